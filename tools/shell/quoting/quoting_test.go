package quoting_test

import (
	"reflect"
	"strings"
	"testing"

	"tavernsim/tools/shell/quoting"
)

// Promise 1.
func TestScripts(t *testing.T) {
	const v = "${__simd_secret_A}"
	for script, want := range map[string]string{
		`echo $KARYI{A}`:             `echo "` + v + `"`,
		`echo "is $KARYI{A}"`:        `echo "is ` + v + `"`,
		`echo 'is $KARYI{A}'`:        `echo 'is '"` + v + `"''`,
		`echo $'is $KARYI{A}'`:       `echo $'is '"` + v + `"$''`,
		"cat <<X\n$KARYI{A}\nX\n":    "cat <<X\n" + v + "\nX\n",
		`echo $$KARYI{A}`:            `echo \$KARYI{A}`,
		`echo $KARYI{B} # $KARYI{A}`: `echo $KARYI{B} # $KARYI{A}`,
		`echo $KARYI{A`:              `echo $KARYI{A`,
		`echo \$KARYI{A}`:            `echo \$KARYI{A}`,
		`echo '\$KARYI{A}'`:          `echo '\'"` + v + `"''`,
		`echo "$$KARYI{A}"`:          `echo "\$KARYI{A}"`,
		`echo '$$KARYI{A}'`:          `echo '$KARYI{A}'`,
		`echo "$(echo $KARYI{A})"`:   `echo "$(echo "` + v + `")"`,
	} {
		got, used, err := quoting.Script(script, map[string]string{"A": "it's \"$KARYI{A}\""})
		if err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", script, got, err, want)
		}
		if has := strings.Contains(want, v); has != reflect.DeepEqual(used, map[string]string{"__simd_secret_A": "it's \"$KARYI{A}\""}) {
			t.Errorf("%s: %v", script, used)
		}
	}
	for script, want := range map[string]string{
		"cat <<'X'\n$KARYI{A}\nX\n":               "without quotes",
		"cat <<\\X\n$KARYI{A}\nX\n":               "without quotes",
		`echo "$KARYI{A}`:                         "cannot be read",
		"$KARYI{A}" + strings.Repeat(" ", 64<<10): "at most 65536 bytes",
	} {
		if _, _, err := quoting.Script(script, map[string]string{"A": "value"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", script, err, want)
		}
	}
}

// The bound of a script is one that it may reach.
func TestALongScript(t *testing.T) {
	script := "$KARYI{A}"
	script += strings.Repeat(" ", 64<<10-len(script))
	if _, _, err := quoting.Script(script, map[string]string{"A": "value"}); err != nil {
		t.Error(err)
	}
}

// Promise 2.
func TestTexts(t *testing.T) {
	secrets := map[string]string{"A": "$KARYI{B}", "B": "$$KARYI{A}"}
	for text, want := range map[string]string{
		`$KARYI{A}, $KARYI{B}`: `$KARYI{B}, $$KARYI{A}`,
		`$$KARYI{A}`:           `$KARYI{A}`,
		`$KARYI{C} $KARYI{A`:   `$KARYI{C} $KARYI{A`,
	} {
		if got := quoting.Text(text, secrets); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
