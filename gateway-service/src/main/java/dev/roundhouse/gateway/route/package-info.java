/** Which of the workers that can answer a call is asked, and who is asked when it cannot. */
@NullMarked
package dev.roundhouse.gateway.route;

import org.jspecify.annotations.NullMarked;
