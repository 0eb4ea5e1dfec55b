/**
 * What a bundle's Java is compiled against. {@code Model.java}, or a jar, has one class that
 * implements {@link dev.roundhouse.hooks.ModelHooks} (kind {@code model}) or {@link
 * dev.roundhouse.hooks.MetaModel} (kind {@code meta}); it is given a {@link
 * dev.roundhouse.hooks.HookRequest} and {@link dev.roundhouse.hooks.Tensors}, and refuses by {@link
 * dev.roundhouse.hooks.HookException}. It sees the JDK, this package and those below it, and {@code
 * dev.roundhouse.bundle.tensor}. Owns no state.
 */
@NullMarked
package dev.roundhouse.hooks;

import org.jspecify.annotations.NullMarked;
