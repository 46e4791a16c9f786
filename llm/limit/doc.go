// Package limit decides which calls of an endpoint may leave, and when.
package limit
