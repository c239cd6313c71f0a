#pragma once

// IWYU pragma: begin_exports
#include <shardweave/report/assignment_text.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/csv.hpp>
#include <shardweave/report/explained_tasks_text.hpp>
#include <shardweave/report/graphviz.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/html_plan.hpp>
#include <shardweave/report/memory_parts.hpp>
#include <shardweave/report/reason_text.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/svg_agreement.hpp>
#include <shardweave/report/svg_comparison.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/report/svg_timeline.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
// IWYU pragma: end_exports

/// \file
/// Text, Chrome trace, SVG, Graphviz, CSV.
