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
	for i, text := range commands {
		one := *c
		one.Params = map[string]any{scriptParam: text}
		if v := j.judge(&one); weight(v.Do) > weight(worst.Do) || i == 0 && v.Do == worst.Do && worst.Rule == "" {
			worst = v
		}
	}
	if !clear && worst.Do == Allow && slices.ContainsFunc(j.rules, func(r rule) bool { return len(r.params) > 0 && r.tools.Match(c.Tool) }) {
		return Verdict{Do: Ask, Rule: worst.Rule, Reason: "the script hides a part of what it runs: in a variable, a substitution, a pattern or a program that runs others"}
	}
	return worst
}

// commandsOf lists the simple commands of a script, also those of functions and
// substitutions, each as its words. clear is false if some of what runs cannot be seen.
func commandsOf(script string) (list []string, clear bool) {
	if len(script) > maxScript {
		return nil, false
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	clear = true
	syntax.Walk(file, func(n syntax.Node) bool {
		call, is := n.(*syntax.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range call.Args {
			text, fixed := wordOf(w)
			if !fixed {
				clear = false
				text = script[w.Pos().Offset():w.End().Offset()]
			}
			words = append(words, text)
		}
		name := words[0][strings.LastIndexByte(words[0], '/')+1:]
		clear = clear && !slices.Contains(runners(), name) && !isPattern(call.Args[0])
		list = append(list, strings.Join(words, " "))
		return true
	})
	return list, clear
}

// runners are programs and builtins that run what their arguments say.
func runners() []string {
	return strings.Fields("eval source . alias trap exec command builtin env xargs sh bash dash zsh ksh busybox nohup nice timeout setsid sudo su doas find parallel")
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
			for _, inner := range x.Parts {
				lit, is := inner.(*syntax.Lit)
				if !is {
					return "", false
				}
				b.WriteString(lit.Value)
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
