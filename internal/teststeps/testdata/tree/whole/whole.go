package whole

import _ "github.com/cockroachdb/pebble/v2"
