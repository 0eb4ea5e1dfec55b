/**
 * What applications show Prometheus: one enum names every metric, and everything that is shown goes
 * through it. Meters for what there is one of; {@link dev.roundhouse.platform.metrics.Series} for
 * what comes and goes, such as models.
 */
@NullMarked
package dev.roundhouse.platform.metrics;

import org.jspecify.annotations.NullMarked;
