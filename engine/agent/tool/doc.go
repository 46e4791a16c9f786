// Package tool is what entries of the table of tools are made of (agent
// architecture §2.1.4): the description that callers see, and the parameters as a
// tool reads them. The table itself is in engine/agent.
package tool

// SkillPrefix marks a call of a skill workflow.
const SkillPrefix = "workflow:"
