// Package persistencetest checks a backend of package persistence: [Run] tests the
// promises of that package, [Workload] makes histories that can be checked from any
// point, and [Check] compares a journal with its expected history.
//
// A backend under test is opened through a [Backend]. Of persists is the one of
// package persistence.
//
// # Not here
//
// Tests that only one backend supports: the tests of package persistence contain
// kills, torn files and failing disks.
package persistencetest
