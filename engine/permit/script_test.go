package permit

import (
	"strings"
	"testing"
)

// Promise 4: the commands of a script are judged, wherever they stand.
func TestScripts(t *testing.T) {
	judge := func(rules ...Rule) *Judge {
		j, faults := New(&Policy{Rules: rules})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return j
	}
	command := func(id string, do Do, patterns ...any) Rule {
		return Rule{ID: id, Tools: []string{"command"}, Params: map[string]any{"/content": patterns}, Do: do}
	}
	j := judge(command("fine", Allow, "git *", "ls", "ls *", "echo *", "cd *", "$KARYI*"), command("push", Ask, "git push*"), command("remove", Deny, "rm *", "*mkfs*"))
	for script, want := range map[string]string{
		"ls": "allow fine", "cd x && ls -la | git status": "allow fine", "git push origin": "ask push", "ls; git 'push'  --force": "ask push", "rm -rf /": "deny remove", "ls && (cd x; rm a)": "deny remove",
		"f() { rm -rf x; }; ls": "deny remove", "echo $(rm x)": "deny remove", "echo `rm x`": "deny remove", "r''m x": "deny remove", `\rm x`: "deny remove", `"rm" x`: "deny remove", "if ls; then rm x; fi": "deny remove",
		"make": "deny ", "ls; make": "deny ", "X=1 ls": "allow fine", "echo $HOME": "ask fine", "ls <(echo a)": "ask fine", "$X": "deny ", "cd x; eval ls": "deny ",
		"echo 'rm -rf x'": "allow fine", "echo \"a b\" # rm x": "allow fine", "cat <<E\nrm x\nE": "deny ", "echo $KARYI{T} \"a\"": "allow fine", "echo mkfs": "deny remove", "if": "deny ", "ls " + strings.Repeat("a", maxScript): "ask fine",
		"rm " + strings.Repeat("a", maxScript): "deny remove",
	} {
		v := j.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}})
		if got := string(v.Do) + " " + v.Rule; got != want {
			t.Errorf("%.60q: %s, want %s", script, got, want)
		}
	}
	most := judge(command("any", Allow, "*"), command("remove", Deny, "rm *", "*/rm *"))
	for script, want := range map[string]Do{
		"/bin/r? x": Ask, "r[m] x": Ask, "{rm,-rf,x}": Ask, "/bin/r* x": Ask, `/bin/"r"? x`: Ask, "ls; /bin/r? x": Ask, "r{m,} x": Ask, "@(rm) x": Ask,
		"ls *": Allow, "[ -f x ] && ls": Allow, `\[ -f x ]`: Allow, `"/bin/r?" x`: Allow, `a\*b\[\{ x`: Allow, "[[ -f x ]]": Allow, "{ ls; }": Allow, "rm *": Deny,
	} {
		if v := most.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != want {
			t.Errorf("%q: %s, want %s", script, v.Do, want)
		}
	}
	all := judge(Rule{ID: "all", Tools: []string{"command"}, Do: Allow})
	for _, script := range []string{"eval $X", "if", "", strings.Repeat("(", 30_000), strings.Repeat("$(", 30_000), strings.Repeat("`", 30_000), strings.Repeat("a$((", 15_000)} {
		if v := all.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != Allow {
			t.Errorf("%.60q: %+v", script, v)
		}
	}
}
