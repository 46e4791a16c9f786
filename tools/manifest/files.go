package manifest

// Read and Edit are the tools of ToolsXML that work on files of mounts. A profile that
// names one in its inventory has it, without a file.
const (
	Read = "read"
	Edit = "edit"
)

// Files is their type. No file can have it.
const Files = "files"
