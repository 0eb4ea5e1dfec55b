/** What is to run: names, ports and command lines, decided before anything starts. */
@NullMarked
package dev.roundhouse.node.plan;

import org.jspecify.annotations.NullMarked;
