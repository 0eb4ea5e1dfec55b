/** What a bundle's Java is compiled against. */
@NullMarked
package dev.roundhouse.hooks;

import org.jspecify.annotations.NullMarked;
