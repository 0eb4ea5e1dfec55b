/** What the live page of a worker costs those who ask its models. */
@NullMarked
package dev.roundhouse.benchmarks.page;

import org.jspecify.annotations.NullMarked;
