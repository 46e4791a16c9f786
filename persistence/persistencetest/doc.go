// Package persistencetest says when a backend of package persistence is done:
// [Run] holds it to the promises of that package, [Workload] makes histories
// that can be checked from any point, and [Check] compares a journal with the
// history that it must hold.
//
// A backend under test is opened through a [Backend]. Of persists the one that
// package persistence has.
//
// # Not here
//
// What only one backend can be asked: kills, torn files and failing disks are
// in the tests of package persistence.
package persistencetest
