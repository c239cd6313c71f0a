#pragma once

#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>

/// Figures of published models, and of a tiny one.
namespace deepseek_figures {

namespace sw = shardweave;

inline const sw::deepseek_config v3{.name = "v3",
                                    .hidden_size = 7168,
                                    .num_hidden_layers = 61,
                                    .first_k_dense_replace = 3,
                                    .num_attention_heads = 128,
                                    .q_lora_rank = 1536,
                                    .kv_lora_rank = 512,
                                    .qk_nope_head_dim = 128,
                                    .qk_rope_head_dim = 64,
                                    .v_head_dim = 128,
                                    .intermediate_size = 18432,
                                    .moe_intermediate_size = 2048,
                                    .n_routed_experts = 256,
                                    .n_shared_experts = 1,
                                    .num_experts_per_tok = 8,
                                    .vocab_size = 129280,
                                    .n_group = 8,
                                    .topk_group = 4,
                                    .routed_scaling_factor = 2.5};

inline sw::deepseek_config lite() {
  sw::deepseek_config c = v3;
  c.name = "v2-lite";
  c.hidden_size = 2048;
  c.num_hidden_layers = 27;
  c.first_k_dense_replace = 1;
  c.num_attention_heads = 16;
  c.q_lora_rank = 0;
  c.intermediate_size = 10944;
  c.moe_intermediate_size = 1408;
  c.n_routed_experts = 64;
  c.n_shared_experts = 2;
  c.num_experts_per_tok = 6;
  c.vocab_size = 102400;
  c.n_group = c.topk_group = 1;
  c.sigmoid_scores = c.norm_topk_prob = false;
  c.routed_scaling_factor = 1;
  return c;
}

/// One layer without and one with experts; the second variant has softmax scores and full queries.
inline sw::deepseek_config tiny(bool sigmoid) {
  return {.name = "tiny",
          .hidden_size = 8,
          .num_hidden_layers = 2,
          .first_k_dense_replace = 1,
          .num_attention_heads = 2,
          .q_lora_rank = sigmoid ? 5 : 0,
          .kv_lora_rank = 6,
          .qk_nope_head_dim = 3,
          .qk_rope_head_dim = 2,
          .v_head_dim = 4,
          .intermediate_size = 10,
          .moe_intermediate_size = 5,
          .n_routed_experts = 4,
          .n_shared_experts = 2,
          .num_experts_per_tok = 2,
          .vocab_size = 9,
          .sigmoid_scores = sigmoid,
          .norm_topk_prob = sigmoid,
          .routed_scaling_factor = sigmoid ? 2.5 : 1,
          .rms_norm_eps = 1e-3,
          .capacity_factor = 0.75};
}

/// The published smaller model, written down once.
inline const sw::computation& lite_graph() {
  static const sw::computation graph = sw::deepseek_training_graph(lite(), {8, 64});
  return graph;
}

}  // namespace deepseek_figures
