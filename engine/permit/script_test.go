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
		"make": "deny ", "ls; make": "deny ", "X=1 ls": "ask fine", "echo $HOME": "ask fine", "ls <(echo a)": "ask fine", "$X": "deny ", "cd x; eval ls": "deny ",
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
	read := judge(command("any", Allow, "cat *"), command("secret", Deny, "*secret/x*"))
	for script, want := range map[string]Do{
		"cat secret/./x": Deny, "cat secret//x": Deny, "cat ./secret///x y": Deny, "cat a/b://../../secret/./x": Deny, "cat 'a b://../secret/./x'": Deny,
		"cat docs//x": Allow, "cat https://good.example/a": Allow,
	} {
		if v := read.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != want {
			t.Errorf("%q: %s, want %s", script, v.Do, want)
		}
	}
	git := judge(command("git", Allow, "git *", "printf *", "[ *", "test *", "cd *"), command("push", Ask, "git push*"), command("remove", Deny, "rm *"))
	for _, script := range []string{
		`python3 -c 'print("PWNED", 6*7)#/../git a'`, "rm -v keep/../git x", "./git status", "../git status", "/tmp/git status", `.\\..\\git x`, "x/../git a", "'git x/../evil'", "'git x/evil'", "'git x'", `git\ x/evil y`, "'git\tx'",
		"PATH=. git x", "PATH=.\ngit x", "export PATH=.; git x", "declare -x PATH=.; git x", "readonly PATH=.; git x", "typeset PATH=. && git x", "'export' PATH=.; git x", "for PATH in .; do git x; done", "select PATH in .; do git x; done",
		"read PATH <<< .; git x", "printf -v PATH .; git x", "printf -vPATH .; git x", ": ${PATH:=.}; git x", "git x <<E\n${PATH:=.}\nE", "((PATH=1)); git x", "let PATH=1; git x", "git x $((y))", "[[ 'a[$(evil)]' -eq 1 ]] && git x", "[[ -v a ]] && git x",
		"[ -v 'a[$(evil)]' ]; git x", "test -v 'a[`evil`]'", "printf '%s' 'a[$(evil)]'", "GIT_PAGER=evil git log", "env git x", "command git x", "exec git x", "nice git x", "/usr/bin/nice git x", "ionice git x", "stdbuf -o0 git x", "time -p /bin/time git x", "hash -p ./evil git; git x",
		"enable -f ./x git; git x", "git() { evil; }; git x", "function git { evil; }; git x", "alias git=evil; git x", "git $(evil)", "git `evil`", `git "$(evil)"`, "git <(evil)", "git x > >(evil)", "git x <<E\n$(evil)\nE", "git x <<< $(evil)", "git x; evil", "git x\nevil", "git x & evil", "git x | evil",
		"git x || evil", "$GIT x", "g?t x", "[g]it x", "{git,x}", "git {push,}", "git pu{sh,} x", "git {a..c}", "git x > evil", "git x >> evil", "git x >| evil", "git x &> evil", "git x <> evil", "git x {PATH}>&1", "git x >&evil", "> evil", "coproc git x", "coproc PATH { git x; }", "git $'\\x70ush'", `git $"x"`,
		"if evil; then git x; fi", "while evil; do git x; done", "case x in x) evil;; esac", "! evil", "( evil )", "{ evil; }", "time evil", "#git x\nevil", "git x \\\n; evil", "", "# git x", "git x https:/evil", "trap evil EXIT; git x", "jobs -x evil", "set -k; git PATH=. x", "shopt -s expand_aliases; git x",
		"BASH_ENV=x git y", "a[$(evil)]=1 git x", "git x 2>$(evil)", "case ${PATH:=.} in x) git x;; esac", "mapfile -C evil; git x", "complete -C evil git", "unset PATH; git x", "git x; (PATH=.; git y)", "gi''t\u00a0x", "eval git x", ". git x", "source git x",
	} {
		if v := git.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do == Allow {
			t.Errorf("%q: %+v", script, v)
		}
	}
	for _, script := range []string{
		"git x", "git a/../b", "git add ./x", "git x ../y", "git add .", "cd x && git 'y z'", "git x 2>&1", "git x >/dev/null 2>&1", "git x </dev/null", "git x <<'E'\n$(evil)\nE", "g'i't x", "git() { git x; }; git y", "if git x; then git y; fi", "[ -f x ] && git y", "time git x", "! git x", "(git x)", "git x &", "git x | git y # z",
		"git log --format='[%h] $x'", `git "a\$b"`, "git *.go", "printf '%s' x", "git clone HTTPS://Good.com:443/x",
	} {
		if v := git.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != Allow {
			t.Errorf("%q: %+v", script, v)
		}
	}
	for script, want := range map[string]Do{
		"/bin/rm x": Deny, "./rm x": Deny, "/bin/../bin/rm x": Deny, "PATH=. rm x": Deny, "> y rm x": Deny, "git \"pu\\\nsh\" x": Ask, "'rm' x": Deny, "time rm x": Deny, "git x; r\\m y": Deny, "/bin/git push": Ask,
	} {
		if v := git.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != want {
			t.Errorf("%q: %+v, want %s", script, v, want)
		}
	}
	folders := judge(command("any", Allow, "*"), command("secret", Deny, "rm -r secret", "cat secret/x", "ls /", "git checkout -- drafts"))
	for script, want := range map[string]Do{
		"rm -r secret": Deny, "rm -r secret/": Deny, "rm -r secret//": Deny, "rm -r ./secret": Deny, "rm -r ./secret/": Deny, "rm -r secret/.": Deny, "rm -r -- secret": Deny, "rm -r -- ./secret/": Deny, "rm -r 'secret'": Deny, `rm -r "secret/"`: Deny,
		`rm -r sec\ret/`: Deny, "/bin/rm -r secret/": Deny, "/bin/rm -r -- secret": Deny, "rm  -r   secret/": Deny, "cat -- secret/x": Deny, "cat a/../secret/x": Deny, "ls /": Deny, "ls -- /": Deny, "ls //": Deny,
		"rm -r secrets": Allow, "rm -r secret/x": Allow, "rm -r public secret": Allow, "rm -r secret public": Allow, "rm -fr secret": Allow, "rm --recursive secret": Allow, "-- rm -r secret": Allow, "rm -r -- -- secret": Allow, "ls": Allow,
		"git checkout -- drafts": Deny, "git checkout -- drafts/": Deny, "git checkout -- ./drafts//": Deny, "/usr/bin/git checkout -- drafts/": Deny, "git checkout drafts": Allow, "git checkout drafts/": Allow,
	} {
		if v := folders.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != want {
			t.Errorf("%q: %+v, want %s", script, v, want)
		}
	}
	only := judge(command("secret", Allow, "rm -r secret"))
	for _, script := range []string{"rm -r secret/", "rm -r -- secret"} { // what allows fits what is written
		if v := only.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do == Allow {
			t.Errorf("%q: %+v", script, v)
		}
	}
	all := judge(Rule{ID: "all", Tools: []string{"command"}, Do: Allow})
	for _, script := range []string{"eval $X", "if", "", strings.Repeat("(", 30_000), strings.Repeat("$(", 30_000), strings.Repeat("`", 30_000), strings.Repeat("a$((", 15_000)} {
		if v := all.Judge(&Call{Tool: "command", Params: map[string]any{"content": script}}); v.Do != Allow {
			t.Errorf("%.60q: %+v", script, v)
		}
	}
}
