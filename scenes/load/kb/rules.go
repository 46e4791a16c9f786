// Package kb holds the rules of the fields of knowledge bases in files (agent architecture
// §3.4). What a base may contain beyond its fields, package engine/knowledge says.
package kb

import (
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/internal/source"
)

// upTo is the range from 0.
func upTo(high float64) *source.Range { return &source.Range{Max: high} }

// Rules are those of the fields of files in knowledgebases/.
func Rules() source.Rules {
	return source.Rules{
		"knowledge.KnowledgeBase.id":              {Required: true, Section: "§3.4", Doc: "Identifies the knowledge base in the project."},
		"knowledge.KnowledgeBase.name":            {Section: "§3.4", Doc: "Name for display."},
		"knowledge.KnowledgeBase.description":     {Section: "§3.4", Doc: "Description of its contents."},
		"knowledge.KnowledgeBase.version":         {Section: "§3.4", Doc: "Semantic version of the content, such as 1.0.0."},
		"knowledge.KnowledgeBase.schema_version":  {Section: "§3.4", Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"knowledge.KnowledgeBase.entries":         {Section: "§3.4", MaxItems: 1_000_000, Doc: "The entries (CAIU)."},
		"knowledge.KnowledgeBase.half_life_hours": {Section: "§3.4", Default: 0.0, Range: upTo(1_000_000), Doc: "Age, in hours of scene time, at which recency counts half in [searches](#search); 0: age does not count."},
		"knowledge.KnowledgeBase.learning":        {Section: "§2.1.5", Doc: "Makes it a base that keeps lessons: see [learning](#learning)."},
		"knowledge.KnowledgeBase.custom_metadata": {Section: "§3.4", Doc: "For your own use; simd does not check it."},

		"knowledge.Entry.id":                  {Required: true, Section: "§3.4", Doc: "Identifies the entry in its knowledge base."},
		"knowledge.Entry.entry_type":          {Required: true, Section: "§3.4", Doc: "goal, best_practice, failed_lesson, observation_summary, refined_goal_definition, reflection_note, or a name of your own. Read as the first four: goal_definition, best_practice_summary, failed_lesson_analysis, observation_log."},
		"knowledge.Entry.title":               {Section: "§3.4", Doc: "Name for display."},
		"knowledge.Entry.content":             {Section: "§3.4", Doc: "Text or an object. Texts may contain references: `{{{reference_key}}}`."},
		"knowledge.Entry.tags":                {Section: "§3.4", Doc: "Words for searching."},
		"knowledge.Entry.priority":            {Section: "§3.4", Default: 0.0, Doc: "Higher comes first."},
		"knowledge.Entry.importance":          {Section: "§3.4", Default: 0.0, Range: upTo(10), Doc: "Raises the rank in [searches](#search)."},
		"knowledge.Entry.used":                {Section: "§3.4", Default: int64(0), Range: upTo(1_000_000), Doc: "How often the entry was used. Agents cannot set it."},
		"knowledge.Entry.helped":              {Section: "§3.4", Default: int64(0), Range: upTo(1_000_000), Doc: "How often it helped, of these times; raises the rank in [searches](#search). Agents cannot set it."},
		"knowledge.Entry.follows":             {Section: "§3.4", Doc: "Id of the entry before it: the line of a dialogue, what happened before. At most one entry follows another."},
		"knowledge.Entry.reference_key":       {Section: "§3.4", Doc: "A second name for `{{{…}}}`, unique in its knowledge base."},
		"knowledge.Entry.activation_criteria": {Section: "§3.4", Doc: "When the entry becomes active by itself."},
		"knowledge.Entry.source":              {Section: "§3.4", Doc: "Its origin; agent_generated if an agent wrote it."},
		"knowledge.Entry.author":              {Section: "§3.4", Doc: "Its author: an instance id, or a person."},
		"knowledge.Entry.created_at":          {Section: "§3.4", Doc: "RFC 3339 time."},
		"knowledge.Entry.updated_at":          {Section: "§3.4", Doc: "RFC 3339 time."},
		"knowledge.Entry.updated_by":          {Section: "§3.4", Doc: "Author of the last change: an instance id, or a person."},
		"knowledge.Entry.goal":                {Section: "§2.1.3", Doc: "Fields of a goal; refused unless entry_type is goal or refined_goal_definition."},
		"knowledge.Entry.custom_metadata":     {Section: "§3.4", Doc: "For your own use; queries can compare it for equality."},
		"knowledge.Entry.version":             {Section: "§3.4", Default: int64(0), Range: upTo(1_000_000), Doc: "Counted by a base with [learning](#learning). Agents cannot set it."},
		"knowledge.Entry.valid_from":          {Section: "§3.4", Doc: "RFC 3339 time of the scene; before it neither searches nor situations find the entry."},
		"knowledge.Entry.valid_until":         {Section: "§3.4", Doc: "From this time on neither."},
		"knowledge.Entry.disabled":            {Section: "§3.4", Default: false, Doc: "Nothing but its id finds the entry."},
		"knowledge.Entry.confidence":          {Section: "§2.1.5", Default: 0.0, Range: upTo(1), Doc: "How sure its author is."},
		"knowledge.Entry.evidence":            {Section: "§2.1.5", MaxItems: knowledge.MaxEvidence, Doc: "What it was learnt from. A base with [learning](#learning) notes the request, if an agent gives none."},
		"knowledge.Entry.confirmed":           {Section: "§2.1.5", Default: int64(0), Range: upTo(1_000_000), Doc: "How often the same was learnt again. Agents cannot set it."},
		"knowledge.Entry.supersedes":          {Section: "§2.1.5", MaxItems: knowledge.MaxLinks, Doc: "Ids of entries in whose place it is."},
		"knowledge.Entry.superseded_by":       {Section: "§2.1.5", Doc: "Id of the entry in its place; nothing but its id finds this one. Agents cannot set it."},
		"knowledge.Entry.conflicts_with":      {Section: "§2.1.5", MaxItems: knowledge.MaxLinks, Doc: "Ids of entries that say otherwise."},

		"knowledge.Learning.types":  {Section: "§2.1.5", Doc: "Entry types of lessons. Default: best_practice, failed_lesson, observation_summary, reflection_note."},
		"knowledge.Learning.merge":  {Section: "§2.1.5", Enum: []string{"alike", "same", "none"}, Default: "alike", Doc: "Which lessons of one type are one: those that say nearly the same, the same words in the same order, none."},
		"knowledge.Learning.recall": {Section: "§2.1.5", Default: int64(knowledge.DefaultRecall), Range: upTo(knowledge.MaxRecall), Doc: "Most lessons that a situation brings to mind without criteria."},
		"knowledge.Learning.keep":   {Section: "§2.1.5", Default: int64(knowledge.DefaultKeep), Range: upTo(knowledge.MaxKeep), Doc: "Most lessons; 0 means the default. Beyond it the least lesson of agents is archived."},

		"knowledge.Activation.always":           {Section: "§3.4", Default: false, Doc: "Active in every situation."},
		"knowledge.Activation.keywords":         {Section: "§3.4", Doc: "At least one occurs in the current text."},
		"knowledge.Activation.all_keywords":     {Section: "§3.4", Doc: "All of them occur."},
		"knowledge.Activation.exclude_keywords": {Section: "§3.4", Doc: "None of them occurs."},
		"knowledge.Activation.also_keywords":    {Section: "§3.4", Doc: "At least one of these occurs, too."},
		"knowledge.Activation.not_all_keywords": {Section: "§3.4", Doc: "At least one of them does not occur."},
		"knowledge.Activation.patterns":         {Section: "§3.4", Doc: "Regular expressions (RE2) that stand beside `keywords`: a keyword occurs, or a pattern matches. At most 1024 bytes each."},
		"knowledge.Activation.whole_words":      {Section: "§3.4", Default: true, Doc: "Keywords do not occur inside words: `king` is not in `liking`. Chinese, Japanese and Korean characters are no parts of words."},
		"knowledge.Activation.tags":             {Section: "§3.4", Doc: "At least one is a tag of the situation."},
		"knowledge.Activation.event_types":      {Section: "§3.4", Doc: "The agent perceives at least one of them; `.*` at the end matches all types below."},
		"knowledge.Activation.condition":        {Section: "§3.4", Doc: "Expression over world, self, events and text."},
		"knowledge.Activation.case_sensitive":   {Section: "§3.4", Default: false, Doc: "Whether keywords and patterns distinguish capital from small letters."},
		"knowledge.Activation.chance":           {Section: "§3.4", Default: 100.0, Range: upTo(100), Doc: "Percent of the turns in which all of that holds; drawn by the turn and the entry, so that a replay draws the same. 0 means the default."},
		"knowledge.Activation.group":            {Section: "§3.4", Doc: "Of the entries of a group whose criteria hold, one is active."},
		"knowledge.Activation.weight":           {Section: "§3.4", Default: int64(100), Range: upTo(1_000_000), Doc: "Of the entry when its group chooses by chance. 0 means the default."},
		"knowledge.Activation.choose":           {Section: "§3.4", Enum: []string{"weight", "priority"}, Default: "weight", Doc: "How its group chooses: by chance, or the highest priority, then by id. One entry with `priority` comes before all with `weight`."},
		"knowledge.Activation.outside_limit":    {Section: "§3.4", Default: false, Doc: "It is not counted among the 10 of a base."},
		"knowledge.Activation.wakes":            {Section: "§3.4", Default: false, Doc: "When it is active, its content is searched for keywords of others, too; three times at most."},

		"knowledge.Goal.description":         {Section: "§2.1.3", Doc: "The aim. Default: the entry's content or title."},
		"knowledge.Goal.status":              {Section: "§2.1.3", Enum: []string{"pending", "active", "completed", "failed"}, Default: "pending", Doc: "The status of the goal."},
		"knowledge.Goal.preconditions":       {Section: "§2.1.3", Doc: "[Conditions](#condition) that must hold before the goal makes sense."},
		"knowledge.Goal.completion_criteria": {Section: "§2.1.3", Doc: "[Conditions](#condition) that must all hold for the goal to be reached."},
		"knowledge.Goal.failure_criteria":    {Section: "§2.1.3", Doc: "[Conditions](#condition) of which one is enough for the goal to have failed."},
		"knowledge.Goal.rewards":             {Section: "§2.1.3", Doc: "Rewards for reaching it; any value. In an object, `commands` are [state commands](state-commands.md) with keys `self.…` that are carried out once."},
		"knowledge.Goal.penalties":           {Section: "§2.1.3", Doc: "Penalties for failing it; the same."},
		"knowledge.Goal.parent_goal_id":      {Section: "§2.1.3", Doc: "Id of the larger goal that contains this one."},
		"knowledge.Goal.completes_by":        {Section: "§2.1.3", Enum: []string{goal.ByAll, goal.ByAny}, Doc: "Whether all or any of the goals that it contains complete it. Default: they do not."},
		"knowledge.Goal.deadline":            {Section: "§2.1.3", Doc: "Fails unless it is completed so long after an agent took it on."},
		"knowledge.Goal.recurs":              {Section: "§2.1.3", Doc: "So long after its end it is pending again."},
		"knowledge.Goal.exclusive":           {Section: "§2.1.3", MaxItems: goal.MaxExclusive, Doc: "Resources: of the goals of an agent that name one of them, one is active."},
		"goal.Condition.text":                {Section: "§2.1.3", Doc: "Prose, for the model. A text alone is read as this field."},
		"goal.Condition.expr":                {Section: "§2.1.3", Doc: "Expression over `world`, `self`, `goals` and `now`: see [goals](goals.md#conditions). At most 1,024 bytes."},
	}
}
