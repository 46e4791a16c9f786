// Package mount reads what URIs in parameters of calls refer to: files of a run's mounts
// (fam://MOUNT/path), artifacts (artifact:sha256-…) and data that stands in the URI itself
// (data:…).
//
// A [Source] is made of the folders of one agent. It holds nothing open and can be used by
// many goroutines.
//
// # Promises
//
//  1. Nothing outside of a mount is read: not by "..", escapes, absolute paths, links,
//     devices or a link that somebody changes while it is read.
//  2. Every URI of another scheme, and every path that is not plain, is refused, with what
//     to write instead.
//  3. What is read is bounded, and is all of the file or an error.
//
// # Not here
//
// Which parameters are references (tam/bind), and what a tool gets in their place
// (scenes/tooling).
package mount
