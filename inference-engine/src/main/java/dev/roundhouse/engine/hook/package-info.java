/**
 * Hooks: a bundle's own Java between callers and its programs. Reads and compiles it ({@code
 * SourceCompiler}, {@code JarContents}), shows it the JDK and the API alone ({@code
 * BundleClassLoader}), runs it on few threads ({@code HookThreads}) under a time limit ({@code
 * HookWatch}), counts its memory ({@code HookMemory}), holds what it makes against the contract,
 * and lets go of code that does what it must not ({@code Conduct}). Knows {@code model}, which
 * knows it as {@link dev.roundhouse.engine.model.ModelCode}. Nothing here runs on {@code dispatch},
 * {@code outputs} or an event loop, but what hands a piece of code over.
 */
@NullMarked
package dev.roundhouse.engine.hook;

import org.jspecify.annotations.NullMarked;
