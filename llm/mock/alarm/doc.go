// Package alarm wakes a process when timers of Go are to fire, which are late in a process that waits for the
// network.
//
// Whoever waits by a timer of Go calls [Alarm.Set] with the same time, and [Alarm.End] when it waits no more.
//
// # Promises
//
//  1. On Linux, and while a descriptor is to be had, timers fire within some 0.1 ms if the machine has time. Elsewhere
//     an Alarm does nothing.
//  2. As long as somebody waits, an Alarm has one descriptor and one goroutine, which ends with the last.
package alarm
