package panel

import "tavernsim/internal/source"

// Rules are those of the fields of definitions; versions are those of the file format.
func Rules(versions []string) source.Rules {
	return source.Rules{
		"panel.Panel.id":                {Required: true, Section: "§3.7", Doc: "Identifies the panel in the project."},
		"panel.Panel.name":              {Section: "§3.7", Doc: "Name for display."},
		"panel.Panel.description":       {Section: "§3.7", Doc: "What it is for."},
		"panel.Panel.version":           {Section: "§3.7", Doc: "Version of the content."},
		"panel.Panel.schema_version":    {Section: "§3.7", Enum: versions, Doc: "Version of this file format."},
		"panel.Panel.ui":                {Section: "§3.7", Doc: "The panel's own page. simd shows none: questions are shown as text, and a warning says that the field has no effect."},
		"panel.Panel.actions":           {Section: "§3.7", MaxItems: 1_000, Doc: "What the panel can be asked for, beside the actions that every panel has."},
		"panel.Panel.subscribes":        {Section: "§3.7", MaxItems: 1_000, Doc: "Event types that its page shows, or `a.*`. No effect here, like `ui`."},
		"panel.Panel.publishes":         {Section: "§3.7", MaxItems: 1_000, Doc: "Event types that its page may publish. No effect here, like `ui`."},
		"panel.Panel.workflow_bindings": {Section: "§3.7", MaxItems: 1_000, Doc: "Workflows that its page may start. No effect here, like `ui`."},
		"panel.Panel.headless":          {Section: "§3.7", Doc: "What becomes of a question when nobody can answer: `refuse` (the default: the call fails, and the agent observes that) or `{default: VALUE}`, which is the answer, or `{workflow: ID}`: a [workflow](panel.md#a-scripted-person) answers."},

		"panel.UI.entry":   {Section: "§3.7", Doc: "Its file, in the folder of the definition."},
		"panel.UI.sandbox": {Section: "§3.7", Doc: "What its frame may do."},

		"panel.Action.title":          {Section: "§3.7", Doc: "What the person reads first, in `simd interact`."},
		"panel.Action.payload_schema": {Section: "§3.7", Doc: "JSON Schema that the payload of a question fits."},
		"panel.Action.answer_schema":  {Section: "§3.7", Doc: "JSON Schema that an answer fits."},

		"panel.Binding.name":        {Required: true, Section: "§3.7", Doc: "How the page calls it."},
		"panel.Binding.workflow_id": {Required: true, Section: "§3.7", Doc: "Id of the workflow."},
	}
}
