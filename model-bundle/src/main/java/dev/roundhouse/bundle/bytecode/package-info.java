/**
 * MLIR bytecode as a container: sections, the tables of attributes, types and properties, and which
 * operations use which properties. What an attribute means is its dialect's and is not known here.
 * Everything is held against the file's bounds; what is not understood is refused, never guessed.
 * The encoding is that of MLIR's {@code docs/BytecodeFormat.md} and of its reader, version 6. Not
 * thread-safe; a module is made, changed and written by one thread.
 */
@NullMarked
package dev.roundhouse.bundle.bytecode;

import org.jspecify.annotations.NullMarked;
