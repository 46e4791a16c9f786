// Package files carries out the tools read and edit of ToolsXML on the mounts of an agent
// (tools/mount).
//
// # Promises
//
//  1. Edits of one call are made all or none: every pair of every file is applied in memory
//     before a byte is written.
//  2. A pair applies where its text is once, or where all or nth say. Nothing fuzzy is
//     tried; what is not found is answered with the lines that are nearest.
//  3. A file is replaced whole: its mode and line ends stay, and a file that somebody else
//     changed meanwhile is left as it is.
//  4. The text before and the text after are kept as artifacts, before the file changes.
//  5. read gives at most 2,000 lines or 16 KiB of a file, and says how to go on.
//  6. An edit locks the files that it names, and no others. It stops when its time is over or
//     the caller cancels it: before each file, while it waits for one, and between pairs.
//
// # Not here
//
// Where a mount is, and what leads out of it (tools/mount); which agent may call (the
// inventory of the profile).
package files
