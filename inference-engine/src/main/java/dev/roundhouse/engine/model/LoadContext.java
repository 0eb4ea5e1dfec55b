package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.Executor;

/**
 * The dependencies of a model loader.
 *
 * @param costAlpha weight of the latest run in the expected cost of a run
 * @param costs what earlier processes learned
 * @param code makes models of bundles with code of their author's
 * @param links what links in bundles may point to
 * @param loads notified of every load, except of what already serves
 * @param compilers where models are built; borrowed
 * @param unloader where they are freed; borrowed
 */
public record LoadContext(
    ModelRegistry registry,
    Device device,
    Residency residency,
    NanoClock clock,
    double costAlpha,
    CostStore costs,
    ModelCode code,
    LinkRoots links,
    ModelLoadListener loads,
    Executor compilers,
    Executor unloader,
    ServingLanes lanes) {}
