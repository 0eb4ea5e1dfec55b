/**
 * The live page, {@code /ui} on the operators' port: its files, and the stream of events that an
 * application's {@link dev.roundhouse.platform.page.PageFeed} fills. Each open page has a thread of
 * its own, and nothing is done while no page is open.
 */
@NullMarked
package dev.roundhouse.platform.page;

import org.jspecify.annotations.NullMarked;
