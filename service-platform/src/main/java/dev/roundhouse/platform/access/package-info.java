/**
 * Who may do what: methods have a category, each category has a rule, and callers show who they are
 * by a token, a certificate, or a gateway's word. Asked by every transport before a request is
 * answered; knows none of them.
 */
@NullMarked
package dev.roundhouse.platform.access;

import org.jspecify.annotations.NullMarked;
