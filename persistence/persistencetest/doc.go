// Package persistencetest holds what tests of several packages need of a store: the
// [Journal] that package persistence gives, whole, and disks that crash, fail or are
// slow. The tests of package persistence hold it to its promises.
package persistencetest
