#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/placement/cost.hpp>

#include <cstdint>

/// \file
/// Forward declarations of the public types, for headers that only name them. Default template arguments stand with
/// the definitions, so a name that is used with a default needs its own header. Constraints are part of a declaration:
/// the small headers above define `cost_value` and `collective_cost_model`. Templates that are constrained by what
/// would draw in a room (`vertex_numbering`, `savings`, `hideable`, `hidden_piece`, `savings_tracker`, `ilp`,
/// `lp_relaxation`, `benefit`, `search`, `two_steps`, `best_of`, `pipeline`) are not here.

namespace shardweave {
inline namespace v0 {

// core
class deadline;
class error;
enum class error_category;
struct progress_report;
class random_source;
class range_minimum;
struct sequence_hash;
struct solve_control;
struct stage_time;
template <class Value, class Hash>
class interner;
template <class Unit>
class quantity;

// graph
class augmented_graph;
class compressed_graph;
struct layer_options;

// overlap
struct always;
struct budget_chain;
struct budget_chains;
struct budget_claim;
struct edge_site;
enum class hiding : std::uint8_t;
struct hiding_place;
class hiding_prices;
struct inclusive_form;
struct one_channel;
struct order_segments;
struct strict_form;
struct window;
struct windows_form;

// placement
struct budget;
struct budget_term;
struct budget_use;
struct compact_edge;
struct compact_link;
struct constraint_set;
struct described_edge;
struct fixed_strategies;
struct hideable_edge;
class label_list;
struct live_interval;
struct pairing;
struct reference_solution;
struct savings_demand;
enum class savings_form : std::uint8_t;
struct savings_layout;
struct relabel;
struct tie;
struct unnamed_vertices;
struct usage_row;
struct usage_segment;
template <cost_value Cost>
struct alternative;
template <cost_value Cost>
struct assignment_difference;
template <cost_value Cost>
class compact_builder;
template <cost_value Cost>
class compact_problem;
template <cost_value Cost>
struct cost_parts;
template <cost_value Cost>
class cost_table;
template <cost_value Cost>
struct described_vertex;
template <cost_value Cost>
struct edge_parts;
template <cost_value Cost>
struct evaluation;
template <cost_value Cost>
struct explained_edge;
template <cost_value Cost>
struct hidden_part;
template <cost_value Cost>
class labeling_state;
template <cost_value Cost>
struct label_amount;
template <cost_value Cost>
struct move_price;
template <cost_value Cost>
struct pair_amount;
template <cost_value Cost>
struct placement_description;
template <cost_value Cost>
class placement_problem;
template <cost_value Cost>
struct restricted_problem;
template <cost_value Cost>
class restriction;
template <cost_value Cost>
class savings_sweep;
template <cost_value Cost>
struct savings_terms;
template <cost_value Cost>
struct vertex_alternatives;
template <cost_value Cost>
struct vertex_difference;
template <cost_value Cost>
struct vertex_explanation;
template <cost_value Cost>
struct vertex_price;

// solve
struct auto_solver;
class any_backend;
struct backend_limits;
struct backend_outcome;
enum class backend_status : std::uint8_t;
struct best_plans_options;
enum class bound_on : std::uint8_t;
class branch_and_bound;
struct certificate;
struct certificate_by_cases;
struct cost_range;
class dive;
struct dual_guide;
struct dual_values;
class elimination;
struct exhaustive;
class guided_search;
struct linear_column;
struct linear_entry;
struct linear_model;
struct linear_names;
struct linear_row;
class local_search;
class presence;
struct price_ascent_options;
struct reduction_counts;
struct reduction_limits;
struct savings_ascent_options;
struct savings_cut;
struct small_size;
struct solve_statistics;
enum class solve_status : std::uint8_t;
struct solver_abilities;
class trws;
template <class S>
class budgeted;
template <class S>
class large_neighbourhood;
template <class Finder, class Bounder>
class certified;
template <cost_value Cost>
class chain_prices;
template <cost_value Cost>
class dual_ascent;
template <class... Solvers>
class first_proven;
template <class Small, class Large>
class by_size;
template <class S>
class for_small;
template <cost_value Cost>
struct forced_plan;
template <cost_value Cost>
struct limit_point;
template <cost_value Cost>
class local_polytope;
template <class S>
class overlapped;
template <cost_value Cost>
struct plan_ranking;
template <class First, class Second>
class polished;
template <cost_value Cost>
class price_ascent;
template <cost_value Cost>
class priced_problem;
template <class... Solvers>
class race;
template <cost_value Cost>
struct ranked_plan;
template <class S>
class reduced;
template <cost_value Cost>
class reduction;
template <cost_value Cost>
class row_prices;
template <cost_value Cost>
class savings_ascent;
template <cost_value Cost>
struct solution;

// cost
struct affine_correction;
struct alpha_beta;
enum class architecture : std::uint8_t;
enum class arithmetic : std::uint8_t;
struct autoparallel_formula;
struct bucket_trade;
enum class collective : std::uint8_t;
struct collective_estimate;
struct collective_in_flight;
struct collective_measurement;
struct compute_profile;
struct contention;
struct device_calibration;
struct device_preset;
struct device_profile;
struct device_work;
struct error_figures;
enum class estimate_quality : std::uint8_t;
struct fitted_line;
class fusion_group;
struct group_shape;
struct held_out;
enum class kernel_kind : std::uint8_t;
struct kernel_measurement;
struct kernel_shares;
class kernel_table;
struct link_share;
enum class link_tier : std::uint8_t;
enum class nccl_algorithm : std::uint8_t;
struct nccl_candidate;
struct nccl_constants;
struct nccl_explanation;
class nccl_filter;
enum class nccl_generation : std::uint8_t;
struct nccl_known_layout;
struct nccl_layout;
enum class nccl_link : std::uint8_t;
struct nccl_node;
enum class nccl_operation : std::uint8_t;
struct nccl_paths;
enum class nccl_processor : std::uint8_t;
enum class nccl_protocol : std::uint8_t;
struct nccl_ramp_point;
struct nccl_rule;
class nccl_smooth;
struct nccl_smooth_options;
struct nccl_topology;
struct nccl_transfers;
class nccl_tuner;
struct nccl_tuner_options;
enum class nccl_version : std::uint8_t;
struct overlapped_ends;
struct product_shape;
struct reached_share;
struct roofline;
struct running_collective;
struct running_kernel;
struct saturated_line;
struct saturation;
enum class shared_path : std::uint8_t;
struct size_band;
class size_curve;
struct time_pair;
struct timed_size;
enum class torch_edition : std::uint8_t;
struct torch_formula;
template <class Base>
struct calibration;
template <collective_cost_model Otherwise>
class collective_table;
template <collective_cost_model Otherwise>
class fitted_lines;
template <collective_cost_model Base>
class link_shares;
template <collective_cost_model Otherwise>
class nccl_symmetric;
template <collective_cost_model Across>
class node_table;
template <collective_cost_model Base>
class residual;
template <collective_cost_model Base>
struct saturating;

// spmd
struct annotation;
struct any_placement_rule;
struct attention_flops;
struct attention_rule;
struct attributes;
struct axis_boundary;
struct cat_rule;
struct complex_view_rule;
struct computation;
class constraint_log;
struct conversion_rule;
class device_mesh;
class dim_placement;
struct dim_strategy;
enum class dtype : std::uint8_t;
struct einsum_flops;
struct einsum_rule;
struct einsum_terms;
struct embedding_backward_rule;
struct embedding_rule;
struct expand_rule;
struct gather_rule;
struct gradients_paired;
struct histogram_rule;
struct inputs_placed;
struct layers_tied;
struct letter_rule;
struct line_rule;
struct local_region_rule;
struct memory_limited;
struct memory_options;
struct mesh_candidate;
struct mesh_ranking;
struct mesh_strategy;
struct operation;
struct operation_view;
struct operations_placed;
struct operations_placed_along;
struct operator_cost;
enum class parameter_unit : std::uint8_t;
struct parameters_limited;
struct parameters_shared;
enum class partial_kind : std::uint8_t;
enum class partial_passing : std::uint8_t;
struct permute_rule;
enum class phase : std::uint8_t;
struct pointwise_rule;
struct propagation;
struct propagation_options;
struct redistribution;
struct redistribution_options;
struct redistribution_step;
struct reduction_rule;
struct results_placed;
enum class role : std::uint8_t;
class rule_table;
struct same_placement_rule;
struct scatter_rule;
class sharding;
struct sharding_classes;
struct spmd_options;
struct strategy_list;
struct strategy_space;
struct tensor;
struct training_options;
struct view_rule;
template <collective_cost_model Collectives>
class redistributor;
template <collective_cost_model Collectives>
class spmd_cost_model;

// models
class backward_pass;
class backward_rules;
struct deepseek_config;
enum class group_merit : std::uint8_t;
class fused_operations;
class graph_builder;
class graph_writer;
struct joint_options;
struct llama_config;
struct training_shape;

// tasks
struct bucket;
struct bucket_costs;
struct bucket_key;
struct bucketing_result;
struct collective_info;
struct collective_record;
struct decision;
enum class decision_reason : std::uint8_t;
struct device_figures;
class duration_table;
struct hiding_record;
class launch_units;
class memory_tracker;
struct output_info;
struct output_record;
struct process_group;
struct profiled_call;
struct profiled_collective;
struct profiled_durations;
struct profiled_run;
struct rank_durations;
struct schedule;
struct statistic;
struct storage;
enum class storage_device : std::uint8_t;
class storage_uses;
struct stored_piece;
class task_graph;
class task_graph_builder;
enum class task_kind : std::uint8_t;
struct task_record;
struct transfer_size;
template <class Kind, class Duration, class Channel, class Key, class Size, class Storages>
struct task_maps;

// lowering
struct lowered_graph;
struct lowering_options;
struct task_origin;

// simulate
struct bucket_times;
struct busy_channel;
enum class critical_reason : std::uint8_t;
struct critical_step;
enum class critical_work : std::uint8_t;
struct launch_costs;
struct machine_timeline;
struct memory_sample;
struct modelled_interference;
struct no_interference;
struct running_work;
struct simulate_options;
struct timeline;
struct uniform_interference;
template <class Interference>
struct machine;

// bucketing
enum class bucket_members : std::uint8_t;
struct greedy;
class merge_order;
struct reduced_graph;
enum class regather : std::uint8_t;
struct no_bucketing;
struct overlap_preserving;
struct topological_span;

// schedule
struct autoparallel_size_buckets;
struct autoparallel_span_buckets;
struct best_known;
struct exact;
struct in_order;
struct makespan_bound_options;
struct makespan_bounds;
struct module_plan;
struct overlap_counts;
struct overlap_passes;
struct overlap_scheduler;
struct overlap_settings;
struct prefetch;
struct schedule_price;
struct torch_default;
struct torch_no_prebucket;
struct torch_overlap_only;
template <class Pass>
struct compatible_pass;

// report
struct channel_span;
struct chrome_trace_options;
struct graphviz_options;
struct named_timeline;
enum class span_kind : std::uint8_t;
struct strategy_row;
struct svg_timeline_options;
enum class text_side;
class text_table;

// planner.hpp, pipeline.hpp
struct task_plan;
struct training_plan;
template <class Graph, class CostModel, class Solver>
class planner;

}  // namespace v0
}  // namespace shardweave
