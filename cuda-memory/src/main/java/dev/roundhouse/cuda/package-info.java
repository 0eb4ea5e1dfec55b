/**
 * Memory on a GPU that another process has allocated and shares by CUDA's IPC handles: opened,
 * copied from and to, closed. Knows nothing of requests or regions. One object owns what it has
 * opened; all calls may wait for the device, so none is for an event loop.
 */
@NullMarked
package dev.roundhouse.cuda;

import org.jspecify.annotations.NullMarked;
