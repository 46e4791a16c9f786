// Package mount reads the targets of URIs in parameters of calls: files of a run's mounts
// (fam://MOUNT/path), artifacts (artifact:sha256-…) and data within the URI itself
// (data:…).
//
// A [Source] is made of the folders of one agent. It holds nothing open and is safe for
// concurrent use.
//
// # Promises
//
//  1. Nothing outside a mount is read: not by "..", escapes, absolute paths, links,
//     devices or a link that is changed during the read.
//  2. Every URI of another scheme, and every path that is not plain, is refused; the error says
//     what to write instead.
//  3. A read is bounded, and gives the whole file or an error.
//
// # Not here
//
// Which parameters are references (tam/bind), and the values that replace them
// (scenes/tooling).
package mount
