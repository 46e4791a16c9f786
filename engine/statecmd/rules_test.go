package statecmd

import (
	"strings"
	"testing"
	"time"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
)

// TestRules holds the engine to the resolutions C1 to C34, each by its number.
func TestRules(t *testing.T) {
	for _, r := range []rule{
		{name: "C1 number onto number", state: `{"n":1}`, do: batch(cmd("add", "n", "41", "")), want: "applied/ok*", after: `{"n":42}`},
		{name: "C1 number onto missing", do: batch(cmd("add", "n", "41", "")), want: "applied/ok*", after: `{"n":41}`},
		{name: "C1 adding nothing", state: `{"n":1}`, do: batch(cmd("add", "n", "0", "")), want: "applied/unchanged"},
		{name: "C1 array append", state: `{"l":[1]}`, do: batch(cmd("add", "l", "2", "")), want: "applied/ok*", after: `{"l":[1,2]}`},
		{name: "C1 array conflict", state: `{"l":[1,{"id":1,"x":2}]}`, do: batch(cmd("add", "l", `{"id":1,"x":3}`, `"uniqueBy":"id"`), cmd("add", "l", "1", "")), want: "rejected/unique_conflict rejected/unique_conflict"},
		{name: "C1 map key from field", state: `{"m":{}}`, do: batch(cmd("add", "m", `{"id":"a.b","v":1}`, `"uniqueBy":"id"`)), want: "applied/ok*", after: `{"m":{"a.b":{"id":"a.b","v":1}}}`},
		{name: "C1 composite key", do: batch(cmd("add", "m", `{"a":"x","b":2}`, `"uniqueBy":["a","b"]`)), want: "applied/ok*", after: `{"m":{"x|2":{"a":"x","b":2}}}`},
		{name: "C1 map key taken", state: `{"m":{"a":1}}`, do: batch(cmd("add", "m", `{"id":"a"}`, `"uniqueBy":"id"`)), want: "rejected/unique_conflict"},
		{name: "C1 key field absent", state: `{"m":{}}`, do: batch(cmd("add", "m", `{"x":1}`, `"uniqueBy":"id"`)), want: "rejected/invalid_value"},
		{name: "C1 key field reserved", state: `{"m":{}}`, do: batch(cmd("add", "m", `{"id":"__proto__"}`, `"uniqueBy":"id"`)), want: "rejected/reserved_segment"},
		{name: "C1 map entries new", state: `{"m":{"a":1}}`, do: batch(cmd("add", "m", `{"b":2,"c":3}`, "")), want: "applied/ok*", after: `{"m":{"a":1,"b":2,"c":3}}`},
		{name: "C1 one entry taken, nothing added", state: `{"m":{"b":1}}`, do: batch(cmd("add", "m", `{"a":0,"b":2}`, "")), want: "rejected/unique_conflict"},
		{name: "C1 missing creates", do: batch(cmd("add", "m", `{"b":2}`, "")), want: "applied/ok*", after: `{"m":{"b":2}}`},
		{name: "C1 wrong types", state: `{"s":"x","m":{},"n":1,"z":null}`, do: batch(cmd("add", "s", "1", ""), cmd("add", "m", "1", ""), cmd("add", "n", `"1"`, ""), cmd("add", "z", "1", ""), cmd("add", "m", "1", `"uniqueBy":"id"`), cmd("add", "n", `{"id":"x"}`, `"uniqueBy":"id"`)), want: strings.TrimSpace(strings.Repeat("rejected/wrong_type ", 6))},

		{name: "C2 objects", state: `{"l":[{"a":1,"b":{"c":2}},{"a":1},{"a":"1"},{"包含":"x"},"包含"]}`, do: batch(cmd("pull", "l", "", `"where":{"a":1,"b":{"c":2}}`), cmd("pull", "l", "", `"where":{"包含":"x"}`)), want: "applied/ok* applied/ok*", after: `{"l":[{"a":1},{"a":"1"},"包含"]}`},
		{name: "C2 contains", state: `{"l":["无关闲谈一","约定","无关闲谈二",3]}`, do: batch(cmd("pull", "l", "", `"where":{"包含":"无关闲谈"}`)), want: "applied/ok*", after: `{"l":["约定",3]}`},
		{name: "C2 operators", state: `{"l":["ab","bc","cd","x",5]}`, do: batch(cmd("pull", "l", "", `"where":{"prefix":"a"}`), cmd("pull", "l", "", `"where":{"前缀":"b","contains":"c"}`), cmd("pull", "l", "", `"where":{"equals":"x"}`), cmd("pull", "l", "", `"where":{"等于":5}`)), want: "applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"l":["cd"]}`},

		{name: "C3 update creates", do: batch(cmd("update", "a", `{"x":1}`, ""), cmd("patch", "b", `{"x":1}`, "")), want: "applied/ok* applied/ok*", after: `{"a":{"x":1},"b":{"x":1}}`},
		{name: "C3 ifExists skips", do: batch(cmd("update", "a", `{"x":1}`, `"ifExists":true`)), want: "skipped/missing"},
		{name: "C3 allowMissing false rejects", do: batch(cmd("update", "a", `{"x":1}`, `"allowMissing":false`)), want: "rejected/missing"},

		{name: "C4 delete missing", do: batch(cmd("delete", "a", "", "")), want: "rejected/missing"},
		{name: "C4 allowMissing", do: batch(cmd("delete", "a.b.c", "", `"allowMissing":true`)), want: "applied/unchanged"},

		{name: "C5 null exists", state: `{"a":null}`, do: batch(cmd("set", "a", "1", `"ifMissing":true`), cmd("ensure", "a", "1", ""), cmd("set", "a", "2", `"ifEquals":null`)), want: "skipped/exists skipped/exists applied/ok*", after: `{"a":2}`},
		{name: "C5 ifEquals null wants a present null", do: batch(cmd("set", "a", "2", `"ifEquals":null`)), want: "skipped/not_equal"},

		{name: "C6 both guards", do: batch(cmd("set", "a", "1", `"ifMissing":true,"ifExists":true`), cmd("ensure", "a", "1", `"ifExists":true`)), want: "rejected/conflicting_options rejected/conflicting_options"},
		{name: "C6 ensure wins", state: `{"a":1}`, do: batch(cmd("ensure", "a", "2", `"ifMissing":false`)), want: "skipped/exists", warn: "option_ignored"},

		{name: "C7 absent is 0, created as 1", state: `{"o":{"x":1}}`, do: batch(cmd("update", "o", `{"x":2}`, `"ifVersion":0`), cmd("update", "o", `{"x":3}`, `"ifVersion":1`)), want: "applied/ok* applied/ok*", after: `{"o":{"__version":2,"x":3}}`},
		{name: "C7 scalar uses the object above", state: `{"o":{"__version":4,"p":{"x":1}},"l":[1]}`, do: batch(cmd("set", "o.p.x", "2", `"ifVersion":0`), cmd("set", "o.q", "2", `"ifVersion":5`)), want: "applied/ok* applied/ok*", after: `{"l":[1],"o":{"__version":6,"p":{"__version":1,"x":2},"q":2}}`},
		{name: "C7 mismatch", state: `{"o":{"__version":3}}`, do: batch(cmd("set", "o.x", "2", `"ifVersion":2`)), want: "rejected/version_conflict", say: `the version of "o" is 3, not 2`},
		{name: "C7 creating an object", do: batch(cmd("set", "o", `{"x":1}`, `"ifVersion":0`), cmd("set", "o", `{"x":2}`, `"ifVersion":0`)), want: "applied/ok* rejected/version_conflict", after: `{"o":{"__version":1,"x":1}}`},

		{name: "C8 every counted object on the path", state: `{"__version":1,"a":{"b":{"__version":5,"c":{"x":1}}}}`, do: batch(cmd("set", "a.b.c.x", "2", "")), want: "applied/ok*", after: `{"__version":2,"a":{"b":{"__version":6,"c":{"x":2}}}}`},
		{name: "C8 writer's counter is stripped", do: batch(cmd("set", "a", `{"__version":9,"b":{"__version":9,"x":1}}`, "")), want: "applied/ok*", after: `{"a":{"b":{"x":1}}}`, warn: "version_stripped"},
		{name: "C8 replace keeps the counters", state: `{"a":{"__version":3,"b":{"__version":7,"x":1},"c":1}}`, do: batch(cmd("set", "a", `{"b":{"x":2}}`, "")), want: "applied/ok*", after: `{"a":{"__version":4,"b":{"__version":8,"x":2}}}`},
		{name: "C8 one bump per entry", state: `{"a":{"__version":1,"b":{"__version":1,"x":1,"y":1},"l":[1,2,3,4]}}`, do: batch(cmd("update", "a", `{"b":{"x":2,"y":2},"c":1}`, `"mergeStrategy":"deep"`), cmd("pull", "a.l", "", `"where":{"equals":1}`), cmd("push", "a.l", "5", `"position":"head"`), cmd("push", "a.l", "5", `"limit":3`)), want: "applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"a":{"__version":5,"b":{"__version":2,"x":2,"y":2},"c":1,"l":[3,4,5]}}`},
		{name: "C8 an unchanged write bumps nothing", state: `{"a":{"__version":1,"x":1}}`, do: batch(cmd("set", "a.x", "1", ""), cmd("update", "a", `{"x":1}`, "")), want: "applied/unchanged applied/unchanged"},

		{name: "C9 defaults", state: `{"a":{"x":1,"o":{"p":1}},"b":{"x":1,"o":{"p":1}}}`, do: batch(cmd("set", "a", `{"y":2}`, ""), cmd("update", "b", `{"o":{"q":2}}`, "")), want: "applied/ok* applied/ok*", after: `{"a":{"y":2},"b":{"x":1,"o":{"q":2}}}`},
		{name: "C9 deep", state: `{"a":{"l":[1],"o":{"p":1,"n":1}}}`, do: batch(cmd("patch", "a", `{"l":[2,3],"o":{"q":2,"n":null},"new":{"z":{}}}`, `"mergeStrategy":"deep"`)), want: "applied/ok*", after: `{"a":{"l":[2,3],"o":{"p":1,"n":null,"q":2},"new":{"z":{}}}}`},
		{name: "C9 non-object replaces", state: `{"a":5,"o":{"x":1}}`, do: batch(cmd("update", "a", `{"x":1}`, ""), cmd("update", "o", "7", `"mergeStrategy":"deep"`)), want: "applied/ok* applied/ok*", after: `{"a":{"x":1},"o":7}`},
		{name: "C9 set with a strategy", state: `{"a":{"x":1}}`, do: batch(cmd("set", "a", `{"y":2}`, `"mergeStrategy":"shallow"`)), want: "applied/ok*", after: `{"a":{"x":1,"y":2}}`},

		{name: "C10 JSON Patch", state: `{"a":{}}`, do: batch(cmd("patch", "a", `[{"op":"add","path":"/x","value":1}]`, "")), want: "rejected/json_patch"},

		{name: "C11 push creates", do: batch(cmd("push", "l", `[1,2]`, "")), want: "applied/ok*", after: `{"l":[[1,2]]}`},
		{name: "C11 not a list", state: `{"l":{}}`, do: batch(cmd("push", "l", `1`, "")), want: "rejected/wrong_type"},
		{name: "C11 dedupe", state: `{"l":[{"a":1}]}`, do: batch(cmd("push", "l", `{"a":1}`, `"dedupe":true`), cmd("push", "l", `{"a":1}`, "")), want: "skipped/duplicate applied/ok*", after: `{"l":[{"a":1},{"a":1}]}`},
		{name: "C11 uniqueBy implies dedupe", state: `{"l":[{"id":1,"x":1}]}`, do: batch(cmd("push", "l", `{"id":1,"x":2}`, `"uniqueBy":"id"`), cmd("push", "l", `{"id":2}`, `"uniqueBy":["id"]`)), want: "skipped/duplicate applied/ok*", after: `{"l":[{"id":1,"x":1},{"id":2}]}`},
		{name: "C11 onConflict replace", state: `{"l":[{"id":1,"x":1}]}`, do: batch(cmd("push", "l", `{"id":1,"x":2}`, `"uniqueBy":"id","onConflict":"replace"`), cmd("push", "l", `{"id":1,"x":2}`, `"uniqueBy":"id","onConflict":"replace"`)), want: "applied/ok* skipped/duplicate", after: `{"l":[{"id":1,"x":2}]}`},

		{name: "C12 tail keeps the last", state: `{"l":[1,2,3,4]}`, do: batch(cmd("push", "l", "5", `"limit":2`)), want: "applied/ok*", after: `{"l":[4,5]}`},
		{name: "C12 head keeps the first", state: `{"l":[1,2,3,4]}`, do: batch(cmd("push", "l", "0", `"limit":2,"position":"head"`)), want: "applied/ok*", after: `{"l":[0,1]}`},
		{name: "C12 limit 1", state: `{"l":[1]}`, do: batch(cmd("push", "l", "2", `"limit":1`), cmd("push", "l", "3", `"limit":1,"position":"head"`)), want: "applied/ok* applied/ok*", after: `{"l":[3]}`},
		{name: "C12 below 1", do: batch(cmd("push", "l", "2", `"limit":0`)), want: "rejected/invalid_option"},
		{name: "C12 not after a duplicate", state: `{"l":[1,2,3]}`, do: batch(cmd("push", "l", "1", `"limit":1,"dedupe":true`)), want: "skipped/duplicate"},

		{name: "C13 count from the head", state: `{"l":[1,2,1,1]}`, do: batch(cmd("pull", "l", "1", `"count":2`)), want: "applied/ok*", after: `{"l":[2,1]}`},
		{name: "C13 count from the tail", state: `{"l":[1,2,1,1]}`, do: batch(cmd("pull", "l", "1", `"count":2,"position":"tail"`)), want: "applied/ok*", after: `{"l":[1,2]}`},
		{name: "C13 count alone", state: `{"l":[1,2,3]}`, do: batch(cmd("pull", "l", "", `"count":2`)), want: "applied/ok*", after: `{"l":[3]}`},
		{name: "C13 value as criteria", state: `{"l":[{"a":1,"b":2},{"a":2}]}`, do: batch(cmd("pull", "l", `{"a":1}`, "")), want: "applied/ok*", after: `{"l":[{"a":2}]}`},
		{name: "C13 nothing given", state: `{"l":[1]}`, do: batch(cmd("pull", "l", "", ""), cmd("pull", "l", "", `"where":{}`)), want: "rejected/missing_criteria rejected/invalid_option"},
		{name: "C13 no match, missing, wrong type", state: `{"l":[1],"o":{}}`, do: batch(cmd("pull", "l", "9", ""), cmd("pull", "q", "9", ""), cmd("pull", "o", "9", "")), want: "skipped/no_match skipped/missing rejected/wrong_type"},

		{name: "C14 cascade", state: `{"a":{"b":1},"e":{},"v":{"__version":1},"l":[1],"s":1}`, do: batch(cmd("delete", "a", "", `"cascade":false`), cmd("delete", "l", "", `"cascade":false`), cmd("delete", "e", "", `"cascade":false`), cmd("delete", "v", "", `"cascade":false`), cmd("delete", "s", "", `"cascade":false`), cmd("delete", "a", "", `"cascade":true`), cmd("delete", "l", "", "")), want: "rejected/not_empty rejected/not_empty applied/ok* applied/ok* applied/ok* applied/ok* applied/ok*", after: "{}"},

		{name: "C15 bin conflicts", state: `{"a":{"bin":[]},"bin":[1]}`, do: batch(cmd("delete", "a", "", `"softDelete":true,"recycleBinKey":"s.a.bin"`), cmd("delete", "bin", "", `"softDelete":true`), cmd("delete", "bin[0]", "", `"softDelete":true`), cmd("delete", "a", "", `"softDelete":true,"recycleBinKey":"elsewhere"`)), want: "rejected/bin_conflict rejected/bin_conflict rejected/bin_conflict rejected/bad_prefix"},
		{name: "C15 bin of another type", state: `{"a":1,"bin":5}`, do: batch(cmd("delete", "a", "", `"softDelete":true`)), want: "rejected/wrong_type"},

		{name: "C16 past and zero", state: `{}`, do: batch(cmd("set", "a", "1", `"ttl":0`), cmd("set", "a", "1", `"ttl":-5`), cmd("set", "a", "1", `"expiresAt":"2024-12-31T23:59:59Z"`), cmd("set", "a", "1", `"expiresAt":"soon"`), cmd("set", "a", "1", `"ttl":"9"`)), want: "rejected/invalid_expiry rejected/invalid_expiry rejected/invalid_expiry rejected/invalid_expiry rejected/invalid_option"},
		{name: "C16 inside a list element", state: `{"l":[{"x":1}]}`, do: batch(cmd("set", "l[0].x", "1", `"ttl":5`)), want: "rejected/invalid_expiry"},

		{name: "C17 met", state: `{"l":[1],"o":{"k":1}}`, do: batch(cmd("set", "a", "5", `"expect":{"exists":true,"equals":5,"gte":5,"lte":5,"type":"number","missing":false}`), cmd("push", "l", "2", `"expect":{"length":2,"contains":2,"type":"array"}`), cmd("delete", "o.k", "", `"expect":{"exists":false}`), cmd("set", "t", `"日出前"`, `"expect":{"contains":"出","length":3,"type":"string"}`)), want: "applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"a":5,"l":[1,2],"o":{},"t":"日出前"}`},
		{name: "C17 failing undoes the entry", state: `{"l":[1]}`, do: batch(cmd("push", "l", "2", `"expect":{"length":9}`), cmd("set", "a", "1", `"expect":{"equals":"1"}`), cmd("set", "b", "1", `"expect":{"gte":2}`), cmd("set", "b", "1", `"expect":{"exists":false}`)), want: "rejected/expect_failed rejected/expect_failed rejected/expect_failed rejected/expect_failed"},
		{name: "C17 unknown", do: batch(cmd("set", "a", "1", `"expect":{"equal":5}`)), want: "applied/ok*", after: `{"a":1}`, warn: "unknown_expect"},
		{name: "C17 skipped entries are not asserted", state: `{"a":1}`, do: batch(cmd("ensure", "a", "2", `"expect":{"equals":2}`)), want: "skipped/exists"},
		{name: "C17 [-] asserts the new element", state: `{"l":[1]}`, do: batch(cmd("set", "l[-]", "2", `"expect":{"equals":2}`)), want: "applied/ok*", after: `{"l":[1,2]}`},

		{name: "C18 all or nothing", state: `{"a":1}`, do: batch(cmd("set", "a", "2", ""), cmd("ensure", "a", "3", ""), cmd("delete", "nope", "", `"transaction":true`), cmd("set", "b", "1", "")), want: "rolled_back/transaction skipped/exists rejected/missing rolled_back/transaction"},
		{name: "C18 batch option", state: `{"a":1}`, do: `{"commands":` + batch(cmd("set", "a", "2", ""), `5`) + `,"options":{"transaction":true}}`, want: "rolled_back/transaction rejected/invalid_entry"},
		{name: "C18 success", state: `{"a":1}`, do: batch(cmd("set", "a", "2", `"transaction":true`), cmd("set", "b", "2", "")), want: "applied/ok* applied/ok*", after: `{"a":2,"b":2}`},
		{name: "C18 without, others stay", state: `{"a":1}`, do: batch(cmd("set", "a", "2", ""), cmd("delete", "nope", "", "")), want: "applied/ok* rejected/missing", after: `{"a":2}`},

		{name: "C19 within a batch", state: `{"n":0}`, do: batch(cmd("add", "n", "1", `"idempotencyKey":"k"`), cmd("add", "n", "1", `"idempotencyKey":"k"`), cmd("add", "n", "2", `"idempotencyKey":"k"`), cmd("add", "m", "2", `"idempotencyKey":"k"`)), want: "applied/ok* skipped/duplicate skipped/duplicate applied/ok*", after: `{"m":2,"n":1}`, warn: "idempotency_payload"},
		{name: "C19 a rejected attempt may be repeated", do: batch(cmd("delete", "a", "", `"idempotencyKey":"k"`), cmd("set", "a", "1", ""), cmd("delete", "a", "", `"idempotencyKey":"k"`)), want: "rejected/missing applied/ok* applied/ok*"},

		{name: "C21 fixed order", do: `{"delete":["s.z"],"push":{"s.l":1},"set":{"s.z":1,"s.l":[]},"ensure":{"s.z":0},"set":{"s.y":2}}`, want: "applied/ok* applied/ok* applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"l":[1],"y":2}`},

		{name: "C22 prefix", do: batch(`{"action":"set","key":"  s.a ","value":1}`, `{"action":"set","key":"S.a","value":1}`, `{"action":"set","key":"s.","value":1}`, `{"action":"set","key":"s","value":1}`, `{"action":"set","key":"sa","value":1}`), want: "applied/ok* rejected/bad_prefix rejected/bad_prefix rejected/bad_prefix rejected/bad_prefix", after: `{"a":1}`},

		{name: "C23 grammar", state: `{"l":[1,{"x":1}],"s":"t"}`, do: batch(cmd("set", `a\.b`, "1", ""), cmd("set", `q["c.d"]`, "1", ""), cmd("set", "l[-1].x", "2", ""), cmd("set", "l.0", "9", ""), cmd("set", "l[-]", "3", ""), cmd("set", "id.1001.x", "1", "")), want: "applied/ok* applied/ok* applied/ok* applied/ok* applied/ok* applied/ok*", after: `{"a.b":1,"q":{"c.d":1},"l":[9,{"x":2},3],"s":"t","id":{"1001":{"x":1}}}`},
		{name: "C23 refused", state: `{"l":[1],"s":"t"}`, do: batch(cmd("set", "l[5]", "1", ""), cmd("set", "s.x", "1", ""), cmd("set", "a..b", "1", ""), cmd("set", "n[0]", "1", ""), cmd("delete", "s.x", "", `"allowMissing":true`), cmd("delete", "l[7]", "", `"allowMissing":true`)), want: "rejected/out_of_range rejected/wrong_type rejected/invalid_path rejected/out_of_range rejected/wrong_type applied/unchanged"},

		{name: "C24 reserved", do: batch(cmd("set", "__proto__.x", "1", ""), cmd("set", "a.constructor", "1", ""), cmd("set", "prototype", "1", ""), cmd("set", "a.__version", "1", ""), cmd("set", "a", `{"b":{"__proto__":{}}}`, "")), want: strings.TrimSpace(strings.Repeat("rejected/reserved_segment ", 5))},

		{name: "C25 no value", do: batch(cmd("set", "a", "", ""), cmd("push", "a", "", ""), cmd("add", "a", "", ""), cmd("ensure", "a", "", ""), cmd("set", "a", "null", "")), want: "rejected/missing_value rejected/missing_value rejected/missing_value rejected/missing_value applied/ok*", after: `{"a":null}`},

		{name: "C28 exact", state: `{"big":9007199254740993,"f":0.1}`, do: batch(cmd("add", "big", "1", ""), cmd("add", "f", "0.2", ""), cmd("set", "x", "1.0", ""), cmd("set", "y", "123456789012345678901", ""), cmd("add", "big", "9223372036854775807", "")), want: "applied/ok* applied/ok* applied/ok* rejected/invalid_value rejected/limit", after: `{"big":9007199254740994,"f":0.3,"x":1.0}`},

		{name: "C30 unknown option and action", do: batch(cmd("set", "a", "1", `"ifMising":true`), cmd("upsert", "a", "1", "")), want: "applied/ok* rejected/unknown_action", after: `{"a":1}`, warn: "unknown_option"},

		{name: "C32 inspect", state: `{"a":1}`, do: `{"tavern_commands":[` + cmd("set", "a", "2", "") + `],"tavern_inspect":[{"key":"s.a"},{"key":"s.b"},{"key":"x"}]}`, want: "applied/ok* ignored/inspected ignored/inspected ignored/inspected", after: `{"a":2}`},
	} {
		t.Run(r.name, func(t *testing.T) { r.test(t, Settings{}) })
	}
}

// TestMatrix pins every cell of the action and option matrix that says more than
// "ignored", and the interactions below it.
func TestMatrix(t *testing.T) {
	for _, r := range []rule{
		{name: "ifMissing on set add update", state: `{"a":1}`, do: batch(cmd("set", "a", "2", `"ifMissing":true`), cmd("add", "a", "2", `"ifMissing":true`), cmd("update", "a", "2", `"ifMissing":true`), cmd("patch", "b", `{"x":1}`, `"ifMissing":true`)), want: "skipped/exists skipped/exists skipped/exists applied/ok*", after: `{"a":1,"b":{"x":1}}`},
		{name: "ifMissing on push: only when the array is absent", state: `{"l":[1]}`, do: batch(cmd("push", "l", "2", `"ifMissing":true`), cmd("push", "m", "2", `"ifMissing":true`)), want: "skipped/exists applied/ok*", after: `{"l":[1],"m":[2]}`},
		{name: "ifMissing on pull and delete always skips", state: `{"l":[1]}`, do: batch(cmd("pull", "l", "1", `"ifMissing":true`), cmd("delete", "l", "", `"ifMissing":true`), cmd("delete", "q", "", `"ifMissing":true`)), want: "skipped/exists skipped/exists skipped/missing", warn: "option_ignored option_ignored option_ignored"},
		{name: "limit on add to arrays", state: `{"l":[1,2,3]}`, do: batch(cmd("add", "l", "4", `"limit":2`)), want: "applied/ok*", after: `{"l":[3,4]}`},
		{name: "limit on add elsewhere", state: `{"n":1}`, do: batch(cmd("add", "n", "4", `"limit":2`)), want: "applied/ok*", after: `{"n":5}`, warn: "option_ignored"},
		{name: "pulled elements go to the bin", state: `{"l":[1,2]}`, do: batch(cmd("pull", "l", "1", `"softDelete":true,"reason":"why"`)), want: "applied/ok*", after: `~`},
		{name: "allowMissing false on update and push", do: batch(cmd("patch", "a", `{"x":1}`, `"allowMissing":false`), cmd("push", "l", "1", `"allowMissing":false`), cmd("pull", "l", "1", `"allowMissing":false`), cmd("pull", "l", "1", `"allowMissing":true`)), want: "rejected/missing rejected/missing skipped/missing skipped/missing", warn: "option_ignored"},
		{name: "ttl on delete needs softDelete", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"ttl":5`)), want: "applied/ok*", after: `{}`, warn: "option_ignored"},
		{name: "guard before type check", state: `{"s":"x"}`, do: batch(cmd("push", "s", "1", `"ifMissing":true`), cmd("pull", "s", "1", `"ifEquals":"y"`), cmd("update", "s.x.y", `{}`, `"ifExists":true`)), want: "skipped/exists skipped/not_equal skipped/missing"},
		{name: "guard before version", state: `{"o":{"__version":3}}`, do: batch(cmd("set", "o.x", "1", `"ifExists":true,"ifVersion":9`)), want: "skipped/missing"},
		{name: "a duplicate bumps no version", state: `{"o":{"__version":3,"l":[1]}}`, do: batch(cmd("push", "o.l", "1", `"dedupe":true`)), want: "skipped/duplicate"},
		{name: "ifEquals compares the whole value", state: `{"l":[1,2],"o":{"__version":3,"x":1}}`, do: batch(cmd("push", "l", "3", `"ifEquals":[1]`), cmd("push", "l", "3", `"ifEquals":[1,2]`), cmd("pull", "l", "1", `"ifEquals":[1,2,3]`), cmd("delete", "o", "", `"ifEquals":{"x":1}`)), want: "skipped/not_equal applied/ok* applied/ok* applied/ok*", after: `{"l":[2,3]}`},
		{name: "ifVersion on push and pull uses the object above", state: `{"o":{"__version":3,"l":[1]}}`, do: batch(cmd("push", "o.l", "2", `"ifVersion":3`), cmd("pull", "o.l", "2", `"ifVersion":4`), cmd("push", "o.m", "2", `"ifVersion":5`)), want: "applied/ok* applied/ok* applied/ok*", after: `{"o":{"__version":6,"l":[1],"m":[2]}}`},
		{name: "deleting a counted object bumps the ones above only", state: `{"__version":1,"a":{"b":{"__version":2}}}`, do: batch(cmd("delete", "a.b", "", `"ifVersion":2`)), want: "applied/ok*", after: `{"__version":2,"a":{}}`},
		{name: "expect after pull looks at the whole array", state: `{"l":[1,2]}`, do: batch(cmd("pull", "l", "1", `"expect":{"equals":[2]}`)), want: "applied/ok*", after: `{"l":[2]}`},
		{name: "softDelete and expect missing", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"softDelete":true,"expect":{"exists":false}`)), want: "applied/ok*", after: `~`},
		{name: "softDelete undone by expect", state: `{"a":1}`, do: batch(cmd("delete", "a", "", `"softDelete":true,"expect":{"exists":true}`)), want: "rejected/expect_failed"},
		{name: "later entries see earlier ones", do: batch(cmd("set", "a", "1", `"transaction":true`), cmd("add", "a", "1", `"ifEquals":1`), cmd("set", "b", "1", `"ifExists":true`)), want: "applied/ok* applied/ok* skipped/missing", after: `{"a":2}`},
		{name: "uniqueBy on add forces the map meaning", state: `{"n":1}`, do: batch(cmd("add", "n", "1", `"uniqueBy":"id"`), cmd("add", "q", "1", `"uniqueBy":"id"`)), want: "rejected/wrong_type rejected/wrong_type"},
		{name: "allowMissing masks no bad prefix", do: batch(`{"action":"delete","key":"x.a","options":{"allowMissing":true}}`), want: "rejected/bad_prefix"},
		{name: "dedupe false switches uniqueBy off", state: `{"l":[{"id":1}]}`, do: batch(cmd("push", "l", `{"id":1}`, `"uniqueBy":"id","dedupe":false`)), want: "applied/ok*", after: `{"l":[{"id":1},{"id":1}]}`, warn: "option_ignored"},
	} {
		t.Run(r.name, func(t *testing.T) { r.test(t, Settings{}) })
	}
}

// TestMatrix_ignored: every other cell warns and changes nothing in the outcome.
func TestMatrix_ignored(t *testing.T) {
	value := map[string]string{"mergeStrategy": `"deep"`, "uniqueBy": `"id"`, "dedupe": "true", "position": `"head"`, "limit": "5",
		"where": `{"a":1}`, "count": "5", "softDelete": "true", "recycleBinKey": `"s.bin"`, "cascade": "false", "allowMissing": "false", "ttl": "5", "expiresAt": `"2030-01-01T00:00:00Z"`, "onConflict": `"replace"`}
	run := map[command.Action]string{command.Set: "9", command.Add: "9", command.Update: "9", command.Patch: "9", command.Ensure: "9", command.Push: "9", command.Pull: "1", command.Delete: ""}
	key := map[command.Action]string{command.Push: "l", command.Pull: "l", command.Ensure: "new"}
	const state = `{"n":1,"l":[1,1]}`
	cells := 0
	for _, a := range command.Actions() {
		for option, v := range value {
			if command.Takes(a, option) {
				continue
			}
			cells++
			at := key[a]
			if at == "" {
				at = "n"
			}
			plain, with := newTable(t, Settings{}, state), newTable(t, Settings{}, state)
			one := plain.run(batch(cmd(string(a), at, run[a], "")))
			two := with.run(batch(cmd(string(a), at, run[a], `"`+option+`":`+v)))
			if outcomes(one.Results) != outcomes(two.Results) || plain.state() != with.state() || warnings(two.Warnings) != "option_ignored" || with.s.Timers("state") != 0 {
				t.Errorf("%s with %s: %s %s, warnings %q; without: %s %s", a, option, outcomes(two.Results), with.state(), warnings(two.Warnings), outcomes(one.Results), plain.state())
			}
		}
	}
	if cells != 75 {
		t.Errorf("%d cells of the matrix are \"ignored\"; the table had 75 when this was written", cells)
	}
}

// TestTTL_C16 is about time: places, elements, clearing, restarts.
func TestTTL_C16(t *testing.T) {
	tab := newTable(t, Settings{}, `{}`)
	tab.run(batch(cmd("set", "a", "1", `"ttl":10`), cmd("set", "b", "1", `"ttl":10,"expiresAt":"2025-01-01T00:00:05Z"`),
		cmd("push", "l", `"x"`, `"ttl":10`), cmd("push", "l", `"y"`, ""), cmd("set", "o.p", "1", `"ttl":10`),
		cmd("add", "m", `{"id":"k"}`, `"uniqueBy":"id","ttl":10`), cmd("set", "keep", "1", `"ttl":10`)))
	if tab.s.Timers("state") != 6 || tab.s.NextExpiry() != begin.Add(5*time.Second) {
		t.Fatalf("%d timers, next %s", tab.s.Timers("state"), tab.s.NextExpiry())
	}
	tab.advance(5 * time.Second)
	if got := tab.state(); got != canonical(t, `{"a":1,"keep":1,"l":["x","y"],"m":{"k":{"id":"k"}},"o":{"p":1}}`) {
		t.Fatal("the earlier of ttl and expiresAt counts: ", got)
	}
	loaded, err := ReadSnapshot(mustSnapshot(t, tab.s))
	if err != nil {
		t.Fatal(err)
	}
	tab.s = loaded
	tab.run(batch(cmd("set", "keep", "2", ""), cmd("delete", "o", "", ""), cmd("set", "o.p", "2", "")))
	dec := tab.advance(5 * time.Second)
	if got := tab.state(); got != canonical(t, `{"keep":2,"l":["y"],"m":{},"o":{"p":2}}`) {
		t.Fatal("after ten seconds: ", got)
	}
	if len(dec.Audit) != 3 || dec.Audit[0].Actor != "system" || dec.Audit[0].Action != "expire" {
		t.Fatalf("%+v", dec.Audit)
	}
	if tab.s.Timers("state") != 0 || tab.s.NextExpiry() != 0 {
		t.Fatal("timers stayed")
	}

	tab = newTable(t, Settings{}, `{"l":["x"]}`)
	tab.run(batch(cmd("push", "l", `"x"`, `"dedupe":true,"ttl":5`))) // a duplicate sets no timer
	if tab.s.Timers("state") != 0 {
		t.Error("a duplicate refreshed a ttl")
	}
	tab.run(batch(cmd("push", "l", `{"id":1,"n":1}`, `"uniqueBy":"id","ttl":5`), cmd("set", "l[1].n", "2", "")))
	tab.advance(5 * time.Second)
	if got := tab.state(); got != `{"l":["x"]}` {
		t.Error("an element that changed is known by its unique fields: ", got)
	}
	tab.run(batch(cmd("push", "l", `"z"`, `"ttl":5`), cmd("pull", "l", `"z"`, ""), cmd("push", "l", `"z"`, "")))
	tab.advance(5 * time.Second)
	if got := tab.state(); got != `{"l":["x","z"]}` {
		t.Error("a pulled element takes its timer along: ", got)
	}
	tab.run(batch(cmd("push", "l", `"w"`, `"ttl":5,"limit":1`), cmd("push", "l", `"v"`, `"limit":1`), cmd("push", "l", `"w"`, ``)))
	tab.advance(5 * time.Second)
	if got := tab.state(); got != `{"l":["v","w"]}` {
		t.Error("a trimmed element takes its timer along: ", got)
	}
	tab.run(batch(cmd("set", "l[0]", `"u"`, `"ttl":5`), cmd("set", "l[-]", `"n"`, `"ttl":5`)))
	tab.advance(5 * time.Second)
	if got := tab.state(); got != `{"l":["w"]}` {
		t.Error("ttl on a position holds for the element: ", got)
	}
	tab.run(batch(cmd("add", "n", "1", `"ttl":5`), cmd("add", "n", "1", `"ttl":50`)))
	tab.advance(5 * time.Second)
	if got := tab.state(); got != `{"l":["w"],"n":2}` {
		t.Error("an increment is a write without ttl: it clears the first one's: ", got)
	}
	tab.run(batch(cmd("set", "k", "1", `"ttl":5,"transaction":true`), cmd("delete", "none", "", "")))
	if tab.s.Timers("state") != 0 {
		t.Error("a transaction that was undone left a timer")
	}
	// What is due when a batch comes is removed before it.
	tab.run(batch(cmd("set", "k", "1", `"ttl":5`)))
	tab.now = tab.now.Add(time.Minute)
	dec = tab.run(batch(cmd("set", "k", "2", `"ifExists":true`)))
	if outcomes(dec.Results) != "skipped/missing" || len(dec.Audit) != 2 {
		t.Errorf("%s %d", outcomes(dec.Results), len(dec.Audit))
	}
}

func TestSoftDelete_C15(t *testing.T) {
	for _, bin := range []string{`{}`, `{"bin":{}}`} {
		tab := newTable(t, Settings{}, `{"a":{"b":{"x":1},"l":[1,2,3]},"z":0}`)
		if bin != "{}" {
			tab = newTable(t, Settings{}, `{"a":{"b":{"x":1},"l":[1,2,3]},"bin":{},"z":0}`)
		}
		dec := tab.run(batch(cmd("delete", "a.b", "", `"softDelete":true,"reason":"old","ttl":60`), cmd("delete", "a.l[1]", "", `"softDelete":true`), cmd("pull", "a.l", "", `"count":2,"softDelete":true`)))
		if outcomes(dec.Results) != "applied/ok* applied/ok* applied/ok*" || tab.s.Document("state").Len(world.P("bin")) != 4 {
			t.Fatalf("%s %s", outcomes(dec.Results), tab.state())
		}
		id := dec.Results[0].OpID
		record, _ := tab.s.Document("state").Get(world.P("bin").At(0))
		if bin != "{}" {
			record, _ = tab.s.Document("state").Get(world.P("bin", id))
		}
		if got := string(world.AppendJSON(nil, record)); got != `{"deletedAt":"2025-01-01T00:00:00Z","key":"s.a.b","opId":"`+id+`","reason":"old","value":{"x":1}}` {
			t.Errorf("record %s", got)
		}
		if tab.s.Timers("state") != 1 {
			t.Errorf("%d timers", tab.s.Timers("state"))
		}
		// Restore, in any order; the purge of a restored record is gone.
		for _, opID := range []string{id, dec.Results[1].OpID, dec.Results[2].OpID, dec.Results[2].OpID + ":1"} {
			q := Restoring{Now: tab.now, OpID: opID, Actor: "user"}
			back := tab.e.Restore(tab.s, q)
			tab.check(back)
			tab.s = back.Next
			if outcomes(back.Results) != "applied/ok*" {
				t.Fatalf("restore %s: %+v", opID, back.Results)
			}
			if again := tab.e.Restore(tab.s, q); outcomes(again.Results) != "rejected/missing" {
				t.Errorf("restored twice: %+v", again.Results)
			}
		}
		if got, _ := tab.s.Document("state").Get(world.P("a", "b", "x")); got != int64(1) || tab.s.Document("state").Len(world.P("a", "l")) != 3 || tab.s.Document("state").Len(world.P("bin")) != 0 || tab.s.Timers("state") != 0 {
			t.Errorf("after restoring: %s", tab.state())
		}
		// A place that was taken meanwhile.
		dec = tab.run(batch(cmd("delete", "z", "", `"softDelete":true`), cmd("set", "z", "9", "")))
		q := Restoring{Now: tab.now, OpID: dec.Results[0].OpID}
		if got := outcomes(tab.e.Restore(tab.s, q).Results); got != "rejected/exists" {
			t.Error(got)
		}
		q.Overwrite = true
		if got := outcomes(tab.e.Restore(tab.s, q).Results); got != "applied/ok*" {
			t.Error(got)
		}
		// Purging.
		tab.run(batch(cmd("delete", "a", "", `"softDelete":true,"ttl":5`)))
		n := tab.s.Document("state").Len(world.P("bin"))
		tab.advance(5 * time.Second)
		if tab.s.Document("state").Len(world.P("bin")) != n-1 {
			t.Errorf("not purged: %s", tab.state())
		}
	}
}

func TestSoftDelete_dropsPendingTTL(t *testing.T) {
	tab := newTable(t, Settings{}, `{}`)
	tab.run(batch(cmd("set", "a", "1", `"ttl":5`), cmd("delete", "a", "", `"softDelete":true`)))
	if tab.s.Timers("state") != 0 {
		t.Error("moving to the bin keeps the ttl")
	}
}

func TestSoftDelete_bumpsEachObjectOnce_C8(t *testing.T) {
	tab := newTable(t, Settings{}, `{"__version":1,"a":{"__version":1,"x":1},"b":{"__version":1}}`)
	tab.run(batch(cmd("delete", "a.x", "", `"softDelete":true,"recycleBinKey":"s.b.bin"`)))
	got := tab.state()
	if !strings.HasPrefix(got, `{"__version":2,"a":{"__version":2},"b":{"__version":2,"bin":[{`) {
		t.Error(got)
	}
}

func TestIdempotency_C19(t *testing.T) {
	tab := newTable(t, Settings{MaxKeys: 3, KeyAge: time.Hour}, `{"n":0}`)
	add := func(key string) string { return batch(cmd("add", "n", "1", `"idempotencyKey":"`+key+`"`)) }
	for _, c := range []struct{ key, want string }{{"a", "applied/ok*"}, {"a", "skipped/duplicate"}, {"b", "applied/ok*"}, {"c", "applied/ok*"}, {"a", "skipped/duplicate"}, {"d", "applied/ok*"}, {"a", "applied/ok*"}} {
		if got := outcomes(tab.run(add(c.key)).Results); got != c.want {
			t.Fatalf("%s: %s; want %s (the oldest of three is forgotten)", c.key, got, c.want)
		}
	}
	if tab.s.Keys("state") != 3 {
		t.Errorf("%d keys", tab.s.Keys("state"))
	}
	tab.now = tab.now.Add(2 * time.Hour)
	if got := outcomes(tab.run(add("a")).Results); got != "applied/ok*" {
		t.Error("an old key still counts: ", got)
	}
	if tab.s.Keys("state") != 1 {
		t.Errorf("%d keys after they aged", tab.s.Keys("state"))
	}
	// Before conditions; forgotten with a transaction that is undone.
	tab.run(batch(cmd("add", "n", "1", `"idempotencyKey":"t","transaction":true`), cmd("delete", "none", "", "")))
	if got := outcomes(tab.run(batch(cmd("add", "n", "1", `"idempotencyKey":"t"`), cmd("add", "n", "1", `"idempotencyKey":"t","ifEquals":-1`))).Results); got != "applied/ok* skipped/duplicate" {
		t.Error(got)
	}
}

func TestDidYouMean_C22(t *testing.T) {
	e, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"saveData.背包.物品":            "character.saveData.背包.物品",
		"Character.SaveData.x":      "character.saveData.x",
		"charcter.saveData.x":       "character.saveData.x",
		"character.x":               "character.saveData.x",
		"背包.物品":                     "character.saveData.背包.物品",
		"character.savedata.a.b":    "character.saveData.a.b",
		"character.saveData":        "",
		"character.saveData.":       "",
		"character.saveDatabase.ab": "",
	} {
		_, f := e.place(key)
		if f == nil || f.Code != command.BadPrefix || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %v", key, f)
		}
	}
	if _, f := e.place(`character.saveData["a.b"].c`); f != nil {
		t.Error(f)
	}
}

func TestAudit_8(t *testing.T) {
	tab := newTable(t, Settings{}, `{"a":{"password":"x","n":1},"l":[]}`)
	long := `"` + strings.Repeat("y", 9000) + `"`
	dec := tab.run(batch(cmd("set", "a.n", "2", `"reason":"why","tags":["t"]`), cmd("ensure", "a.n", "3", ""), cmd("delete", "zz", "", ""), cmd("update", "a", `{"n":3}`, ""), cmd("set", "a.password", `"z"`, `"ifEquals":"x"`), cmd("set", "long", long, "")))
	if len(dec.Audit) != 6 {
		t.Fatalf("%d records", len(dec.Audit))
	}
	j := func(i int) string {
		b, err := dec.Audit[i].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := `{"opId":"` + dec.Results[0].OpID + `","time":"2025-01-01T00:00:00Z","actor":"AI","action":"set","key":"s.a.n","before":1,"after":2,"options":{"reason":"why","tags":["t"]},"batchId":"b","turnId":"t","index":0,"status":"applied","code":"ok","beforeExists":true,"afterExists":true,"version":1,"warnings":[]}`
	if got := j(0); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i, parts := range [][]string{
		1: {`"status":"skipped","code":"exists"`, `"before":2,"after":2`},
		2: {`"status":"rejected","code":"missing","beforeExists":false`},
		3: {`"before":{"n":2,"password":"[redacted]"},"after":{"n":3,"password":"[redacted]"}`},
		4: {`"before":"[redacted]","after":"[redacted]","options":{"ifEquals":"[redacted]"}`},
		5: {`"after":{"$capped":true,"bytes":9003,"xxh3":"`},
	} {
		for _, part := range parts {
			if got := j(i); !strings.Contains(got, part) {
				t.Errorf("record %d: %s\nwant %s in it", i, got, part)
			}
		}
	}
	if len(dec.Results[0].OpID) != 26 || dec.Results[0].OpID >= dec.Results[1].OpID {
		t.Error("opIds are ULIDs that sort in their order")
	}
	undone := tab.run(batch(cmd("set", "a.n", "9", `"transaction":true`), cmd("delete", "zz", "", "")))
	if undone.Audit[0].Status != StatusUndone || string(undone.Audit[0].After) == "" {
		t.Errorf("the audit keeps the attempt: %+v", undone.Audit[0])
	}
}

// TestApplyWorld: a commit that came another way clears timers as a command would.
func TestApplyWorld(t *testing.T) {
	tab := newTable(t, Settings{}, `{}`)
	tab.run(batch(cmd("set", "a.x", "1", `"ttl":5`), cmd("set", "b", "1", `"ttl":5`)))
	v := tab.s.Document("state").Version()
	next, err := tab.e.ApplyWorld(tab.s, "state", &world.Committed{Before: v, After: v + 1, Changes: []world.Change{{Op: world.OpSet, Path: world.P("a"), Value: []byte{0x01}}}})
	if err != nil || next.Timers("state") != 1 {
		t.Errorf("%v, %d timers", err, next.Timers("state"))
	}
}
