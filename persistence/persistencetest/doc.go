// Package persistencetest helps tests of several packages with stores: it has the whole
// interface of a [Journal], and disks that crash, fail or are slow. The tests of package
// persistence check the promises.
package persistencetest
