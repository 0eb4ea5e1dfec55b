/** What callers are told. Without state that changes. */
@NullMarked
package dev.roundhouse.platform.text;

import org.jspecify.annotations.NullMarked;
