// Package tool describes tools and reads the parameters of their calls (agent
// architecture §2.1.4). Package engine/agent has the table of tools.
package tool

// SkillPrefix marks a call of a skill workflow.
const SkillPrefix = "workflow:"
