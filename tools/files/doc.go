// Package files carries out the tools read and edit of ToolsXML on the mounts of an agent
// (tools/mount).
//
// # Promises
//
//  1. Edits of one call are atomic: every pair of every file is applied in memory
//     before a byte is written.
//  2. A pair applies if its text occurs once, or where all or nth say. There is no fuzzy
//     matching; the error for a missing text shows the nearest lines.
//  3. A file is replaced whole. Its permissions and line ends stay, and a file that another process
//     changed meanwhile is not replaced.
//  4. The text before and the text after are kept as artifacts, before the file changes.
//  5. read gives at most 2,000 lines or 16 KiB of a file, and says how to read on.
//  6. An edit locks only the files that it names. It stops when its time is over or
//     the caller cancels it: before each file, while it waits for one, and between pairs.
//
// # Not here
//
// Mounts and their boundaries (tools/mount); which agent may call (the
// inventory of the profile).
package files
