package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * The dependencies of a model loader.
 *
 * @param costAlpha weight of the latest run in the expected cost of a run
 * @param costs what earlier processes learned
 * @param code makes models of bundles with code of their author's
 * @param links what links in bundles may point to
 * @param settings throws when the operator has set for a name what such a model cannot have
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
    Consumer<ModelSpec> settings,
    ModelLoadListener loads,
    Executor compilers,
    Executor unloader,
    ServingLanes lanes) {}
