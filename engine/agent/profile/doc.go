// Package profile is the static blueprint of agents as files say it: profiles
// (agent_profile.json, agent architecture §2.2 and appendix A) and what a scene
// sets for its agents (custom_runtime_config). [RuntimeConfig.Limits] fills in
// every default.
//
// What a blueprint becomes, made ready to run, is agent.Definition.
package profile
