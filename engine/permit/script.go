package permit

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Of this tool a parameter is a script, of which each command is judged.
const (
	scriptTool  = "command"
	scriptParam = "content"
	maxScript   = 64 << 10 // bytes; a longer one is not read
)

// judgeScript judges a script: it is allowed if each of its commands is. What denies or asks
// may fit a command, or all of the script. If there are rules about scripts, one that hides
// what it runs is asked about, at least.
func (j *Judge) judgeScript(c *Call, script string) Verdict {
	commands, clear := commandsOf(script)
	all := j.judge(c)
	if len(commands) == 0 && clear {
		return all
	}
	worst := Verdict{Do: Allow}
	if all.Do != Allow && all.Rule != "" || len(commands) == 0 {
		worst = all
	}
	for i, words := range commands {
		one := *c
		one.words, one.Params = words, map[string]any{scriptParam: strings.Join(words, " ")}
		if v := j.judge(&one); weight(v.Do) > weight(worst.Do) || i == 0 && v.Do == worst.Do && worst.Rule == "" {
			worst = v
		}
	}
	if !clear && worst.Do == Allow && slices.ContainsFunc(j.rules, func(r rule) bool { return len(r.params) > 0 && r.tools.Match(c.Tool) }) {
		return Verdict{Do: Ask, Rule: worst.Rule, Reason: "the script hides a part of what it runs: in a variable, a substitution, a pattern or a program that runs others"}
	}
	return worst
}

// commandsOf lists the words of each simple command of a script, also of those of functions
// and substitutions. clear is false if some of what runs cannot be seen.
func commandsOf(script string) (list [][]string, clear bool) {
	if len(script) > maxScript {
		return nil, false
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	clear = true
	syntax.Walk(file, func(n syntax.Node) bool {
		clear = clear && !hides(n)
		call, is := n.(*syntax.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range call.Args {
			text, fixed := wordOf(w)
			if !fixed {
				text = script[w.Pos().Offset():w.End().Offset()]
			}
			_, sound := Canonical(text)
			clear = clear && fixed && sound && !expands(w) && !evaluated(text)
			words = append(words, text)
		}
		clear = clear && plain(words) && !isPattern(call.Args[0])
		list = append(list, words)
		return true
	})
	return list, clear
}

// plain reports whether a command is what its name says: no runner, and no name that its words
// do not show, as one with a blank.
func plain(words []string) bool {
	name := words[0]
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' }) || slices.Contains(runners(), name[strings.LastIndexByte(name, '/')+1:]) {
		return false
	}
	option := map[string]string{"printf": "-v", "wait": "-p", "jobs": "-x"}[name] // it sets a variable, or runs a command
	return option == "" || !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, option[1:]) })
}

// hides reports whether a part of a script changes what others run, or runs something, in a
// way that no word of a command shows. What sets a variable does: PATH is one.
func hides(n syntax.Node) bool {
	switch x := n.(type) {
	case nil, *syntax.File, *syntax.Stmt, *syntax.Comment, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob,
		*syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.BinaryCmd, *syntax.FuncDecl, *syntax.CaseClause, *syntax.CaseItem, *syntax.TimeClause,
		*syntax.TestClause, *syntax.ParenTest:
		return false
	case *syntax.CallExpr:
		return len(x.Assigns) > 0
	case *syntax.Redirect:
		return x.N != nil && strings.HasPrefix(x.N.Value, "{") || !harmless(x)
	case *syntax.ParamExp:
		return x.Excl || x.Index != nil || x.Slice != nil || x.Repl != nil || x.Exp != nil
	case *syntax.UnaryTest:
		return x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar
	case *syntax.BinaryTest:
		return slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, x.Op) // they calculate
	}
	return true
}

// harmless reports whether a redirection writes no file that might run, or be read, later.
func harmless(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn:
		return true
	}
	to, fixed := wordOf(r.Word)
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		return fixed && to != "" && strings.Trim(to, "0123456789-") == ""
	}
	return fixed && to == "/dev/null"
}

// evaluated reports whether a fixed text has a substitution that builtins carry out where they
// want the name of a variable: a[$(x)].
func evaluated(text string) bool {
	_, index, has := strings.Cut(text, "[")
	return has && (strings.Contains(index, "$(") || strings.Contains(index, "${") || strings.Contains(index, "`"))
}

// expands reports whether the shell makes several words, or another one, of an argument.
func expands(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		lit, is := part.(*syntax.Lit)
		return is && strings.Contains(lit.Value, "{") && (strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, ".."))
	})
}

// runners are programs and builtins that run what their arguments say, or change what the
// names of others mean.
func runners() []string {
	return strings.Fields("eval source . alias trap exec command builtin hash enable bind complete compgen mapfile readarray read getopts fc history shopt set unset coproc export declare typeset local readonly let " +
		"env xargs sh bash dash ash zsh ksh csh tcsh fish rbash busybox toybox nohup nice ionice chrt taskset stdbuf time timeout setsid setpriv setarch sudo su doas pkexec runuser chroot unshare nsenter " +
		"flock watch script strace ltrace gdb expect unbuffer ssh fakeroot systemd-run at batch crontab tmux screen prlimit find parallel entr")
}

// isPattern reports whether the shell may put names of files, or several words, into the place of a word. Of the
// words with a bracket that of the test alone has no end.
func isPattern(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, is := part.(*syntax.Lit)
		if is && lit.Value == "[" && len(w.Parts) == 1 {
			return false
		}
		for i := 0; is && i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++ // what follows stands for itself
			case '*', '?', '[', '{':
				return true
			}
		}
	}
	return false
}

// wordOf is the text of a word; false = only the shell knows it.
func wordOf(w *syntax.Word) (text string, fixed bool) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.NewReplacer("\\\n", "", `\\`, `\`, `\`, "").Replace(x.Value))
		case *syntax.SglQuoted:
			if x.Dollar {
				return "", false
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			if x.Dollar {
				return "", false
			}
			for _, inner := range x.Parts {
				lit, is := inner.(*syntax.Lit)
				if !is {
					return "", false
				}
				b.WriteString(strings.NewReplacer("\\\n", "", `\\`, `\`, `\$`, "$", `\"`, `"`, "\\`", "`").Replace(lit.Value))
			}
		case *syntax.ParamExp: // a secret hides nothing of what runs
			if !x.Short || x.Param == nil || x.Param.Value != "KARYI" || i == 0 && len(w.Parts) == 1 {
				return "", false
			}
			b.WriteString("$KARYI")
		default:
			return "", false
		}
	}
	return b.String(), true
}
