// Package mask finds values of secrets in texts, in many encodings, and removes
// them.
//
// A [Masker] is made once for its secrets and is immutable. [Masker.Text] masks one whole
// text, such as the output of a tool.
//
// # Promises
//
//  1. A plain value is replaced in place by $KARYI{NAME}: also a part of it, if that
//     has eight letters and digits and a third of those of the value, in any case, with anything that is neither letter nor
//     digit between: spaces, line breaks, quotes, colours of a terminal. What is left of the value beside that is replaced
//     with it, as it is or in escapes: the signs at its ends. Letters beyond ASCII may be escaped as in JSON, have accents of their own, or be in Latin-1.
//  2. Another spelling makes the whole text one that must be withheld: reversed, ROT13, ROT47, Atbash, UTF-7, one
//     number in octal, decimal, base36, base58 or base62, hex
//     (also with the bytes of a pair swapped), base64, base32, base85 and uuencode at any
//     offset, octal, binary, decimal (also behind 0x, 0o or 0b), these in words of several bytes with the lowest byte first, as od writes them, or the highest, \u, \x, escapes of URLs, JSON and XML, UTF-16; each of these
//     backwards; characters that stand for others (full-width, bold, circled; tags and selectors of variations, which nobody sees; with accents, or
//     with what cannot be seen between them); and what is found when base64, base32, hex, escapes, rows of numbers, uuencode, zip, gzip,
//     zlib, bzip2 (these wherever they begin; base64, base32 and hex also behind or before other letters of theirs) or deflate is decoded, up to three times and as long as that is 1 MiB of a text.
//     Words of eight bytes in decimal and octal are decoded where they stand in rows of numbers.
//     Of one large number 20 decimal or 22 octal digits in a row are a hit, and of words 16 to 22 digits: fewer stand in
//     files of numbers that mean nothing. What has fewer digits is found whole, with no digit beside it.
//  3. A text without a secret comes back as it was.
//
// # Not caught
//
// Encryption, private alphabets, letters with other letters or digits between (dumps of fewer than eight bytes in a line), numbers with a
// floating point, and smaller parts. Of a part in base85, in ROT47, or in uuencode on one line, the encoding must have eight letters and digits in a row, too. Four
// fifths of the characters of base85 are letters or digits, and half of those of uuencode and ROT47, so a value below 16
// characters may pass in these spellings, and so may a part of a longer value. Code that holds a value can always encode it in a
// way that this package does not know. Masking is a second line of defence; the sandbox is the first.
package mask
