package main

import (
	"io"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/tam"
	"tavernsim/tam/toolsxml"
)

func newTAM(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "tam",
		Short: "Read and write TAM, the tool calls that agents write",
	}
	c.AddCommand(
		newGrammar(e, "parse", "Parse text with TAM blocks and print the result as JSON", "  simd tam parse answer.txt\n  simd tam parse --pretty < answer.txt",
			func(text string) any { return tam.Parse(text) },
			func(text string) string { return tam.Pretty(text, tam.Parse(text)) }),
		newFormat(e),
	)
	return c
}

func newToolsXML(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "toolsxml",
		Short: "Read ToolsXML, the XML form of tool calls",
	}
	parse := func(text string) toolsxml.Result { return toolsxml.Parse(text, toolsxml.Options{}) }
	c.AddCommand(newGrammar(e, "parse", "Parse text with ToolsXML and print the result as JSON", "  simd toolsxml parse answer.txt",
		func(text string) any { return parse(text) },
		func(text string) string { return toolsxml.Show(text, parse(text)) }))
	return c
}

// newGrammar is a command that parses a file or standard input. Diagnostics are
// results: it fails only when it cannot read its input.
func newGrammar(e *cli.Env, name, short, example string, parse func(string) any, draw func(string) string) *cobra.Command {
	var pretty bool
	c := &cobra.Command{
		Use:     name + " [FILE|-]",
		Short:   short,
		Long:    short + "." + textCodes,
		Example: example,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := cli.ReadInput(e, args)
			if err != nil {
				return err
			}
			if pretty {
				_, err := io.WriteString(e.Out, draw(text))
				return err
			}
			return show.JSON(e.Out, parse(text))
		},
	}
	c.Flags().BoolVar(&pretty, "pretty", false, "show the source with every problem underlined")
	return c
}

func newFormat(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "fmt [FILE|-]",
		Short:   "Rewrite TAM blocks in their canonical form",
		Long:    "Rewrite TAM blocks in their canonical form." + textCodes,
		Example: "  simd tam fmt answer.txt",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := cli.ReadInput(e, args)
			if err != nil {
				return err
			}
			_, err = io.WriteString(e.Out, tam.Reformat(text))
			return err
		},
	}
}

// textCodes ends the help of commands that read a text.
const textCodes = "\n\nExit codes: 0 the text was read, also one with problems, 1 it cannot be read or is\nlonger than 64 MiB, 2 usage, 4 no such file."
