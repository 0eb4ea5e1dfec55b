/** What was measured, as a table for people or as JSON for programs. Single-threaded. */
@NullMarked
package dev.roundhouse.benchmarks.report;

import org.jspecify.annotations.NullMarked;
