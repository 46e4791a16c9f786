package manifest

// The tools of ToolsXML that work on a session, and the one that asks a person for a
// secret. A profile that names one in its inventory has it, without a file.
const (
	Command  = "command"
	Input    = "input"
	Ctrl     = "ctrl"
	GetValue = "get_value"
)

// Their types. No file can have them.
const (
	Shell = "shell"
	Value = "value"
)
