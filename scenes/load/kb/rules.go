// Package kb holds the rules of the fields of knowledge bases in files (agent architecture
// §3.4). Package engine/knowledge has the other rules about bases.
package kb

import (
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/internal/source"
)

// upTo is the range from 0.
func upTo(high float64) *source.Range { return &source.Range{Max: high} }

// Rules are those of the fields of files in knowledgebases/.
func Rules() source.Rules {
	const never, anybody = "an entry with disabled: true is never active", "leave it out for anybody"
	span := &source.Range{Max: goal.MaxSpan.Seconds(), Open: true}
	return source.Rules{
		"knowledge.KnowledgeBase.id":              {Required: true, Section: "§3.4", Doc: "Identifies the knowledge base in the project."},
		"knowledge.KnowledgeBase.name":            {Section: "§3.4", Doc: "Name for display."},
		"knowledge.KnowledgeBase.description":     {Section: "§3.4", Doc: "Description of its contents."},
		"knowledge.KnowledgeBase.version":         {Section: "§3.4", Doc: "Semantic version of the content, such as 1.0.0."},
		"knowledge.KnowledgeBase.schema_version":  {Section: "§3.4", Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"knowledge.KnowledgeBase.entries":         {Section: "§3.4", MaxItems: 1_000_000, Doc: "The entries (CAIU)."},
		"knowledge.KnowledgeBase.shared":          {Section: "§3.4", Default: knowledge.SharedInScene, Enum: []string{knowledge.SharedInScene, knowledge.SharedInProject}, Doc: "`scene`: the agents of a scene share what is written, and each scene of a run has a copy of its own. `project`: so do the agents of all its `scenes`, while they [run together](#several-scenes)."},
		"knowledge.KnowledgeBase.scenes":          {Section: "§3.4", Doc: "Ids of the scenes that share it, two or more; the first one keeps it. With `shared: project` alone."},
		"knowledge.KnowledgeBase.half_life_hours": {Section: "§3.4", Default: 0.0, Range: upTo(1_000_000), Doc: "Age, in hours of scene time, at which recency counts half in [searches](#search); 0: age does not count."},
		"knowledge.KnowledgeBase.activation":      {Section: "§3.4", Doc: "What holds for the entries that become active by themselves, together."},
		"knowledge.KnowledgeBase.learning":        {Section: "§2.1.5", Doc: "Makes it a base that keeps lessons: see [learning](#learning)."},
		"knowledge.KnowledgeBase.embedding":       {Section: "§3.4", Doc: "Gives entries and queries vectors: see [embedding](#embedding)."},
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
		"knowledge.Entry.locked":              {Section: "§3.4", Default: false, Doc: "What agents would change, archive or supersede [waits for review](#who-decides-what-stands-in-a-prompt), but for the status of a goal. Agents cannot set it."},
		"knowledge.Entry.confidence":          {Section: "§2.1.5", Default: 0.0, Range: upTo(1), Doc: "How sure its author is."},
		"knowledge.Entry.evidence":            {Section: "§2.1.5", MaxItems: knowledge.MaxEvidence, Doc: "What it was learnt from. A base with [learning](#learning) notes the request, if an agent gives none."},
		"knowledge.Entry.confirmed":           {Section: "§2.1.5", Default: int64(0), Range: upTo(1_000_000), Doc: "How often the same was learnt again. Agents cannot set it."},
		"knowledge.Entry.supersedes":          {Section: "§2.1.5", MaxItems: knowledge.MaxLinks, Doc: "Ids of entries in whose place it is."},
		"knowledge.Entry.superseded_by":       {Section: "§2.1.5", Doc: "Id of the entry in its place; nothing but its id finds this one. Agents cannot set it."},
		"knowledge.Entry.conflicts_with":      {Section: "§2.1.5", MaxItems: knowledge.MaxLinks, Doc: "Ids of entries that say otherwise."},

		"knowledge.Embedding.model": {Required: true, Section: "§3.4", Doc: "Name of the [model](providers.md#vectors) that gives the vectors: a file in `models/` of kind `embedder` or `static`."},
		"knowledge.Embedding.above": {Section: "§3.4", Default: 0.5, Range: &source.Range{Min: -1, Max: 1}, Doc: "Least cosine of an entry that shares no word with a query."},

		"knowledge.Learning.types":  {Section: "§2.1.5", Strict: true, Hint: "a base without learning keeps no lessons", Doc: "Entry types of lessons. Default: best_practice, failed_lesson, observation_summary, reflection_note."},
		"knowledge.Learning.merge":  {Section: "§2.1.5", Enum: []string{"alike", "same", "none"}, Default: "alike", Doc: "Which lessons of one type are one: those that say nearly the same, the same words in the same order, none."},
		"knowledge.Learning.recall": {Section: "§2.1.5", Default: int64(knowledge.DefaultRecall), Range: upTo(knowledge.MaxRecall), Doc: "Most lessons that a situation brings to mind without criteria."},
		"knowledge.Learning.keep":   {Section: "§2.1.5", Default: int64(knowledge.DefaultKeep), Range: &source.Range{Min: 1, Max: knowledge.MaxKeep}, Hint: "a base without learning keeps no lessons", Strict: true, Doc: "Most lessons. Beyond it the least lesson of agents is archived."},

		"criteria.Activation.always":           {Section: "§3.4", Default: false, Doc: "Active in every situation."},
		"criteria.Activation.keywords":         {Section: "§3.4", Doc: "At least one occurs in the current text."},
		"criteria.Activation.all_keywords":     {Section: "§3.4", Doc: "All of them occur."},
		"criteria.Activation.exclude_keywords": {Section: "§3.4", Doc: "None of them occurs."},
		"criteria.Activation.also_keywords":    {Section: "§3.4", Doc: "At least one of these occurs, too."},
		"criteria.Activation.not_all_keywords": {Section: "§3.4", Doc: "At least one of them does not occur."},
		"criteria.Activation.patterns":         {Section: "§3.4", Doc: "Regular expressions (RE2) that stand beside `keywords`: a keyword occurs, or a pattern matches. At most 1024 bytes each."},
		"criteria.Activation.whole_words":      {Section: "§3.4", Default: true, Doc: "Keywords do not occur inside words: `king` is not in `liking`. Chinese, Japanese and Korean characters are no parts of words."},
		"criteria.Activation.tags":             {Section: "§3.4", Doc: "At least one is a tag of the situation."},
		"criteria.Activation.event_types":      {Section: "§3.4", Doc: "The agent perceives at least one of them; `.*` at the end matches all types below."},
		"criteria.Activation.condition":        {Section: "§3.4", Doc: "Expression over world, self, goals (those that are open), events and text."},
		"criteria.Activation.case_sensitive":   {Section: "§3.4", Default: false, Doc: "Whether keywords and patterns distinguish capital from small letters."},
		"criteria.Activation.chance":           {Section: "§3.4", Default: 100.0, Range: &source.Range{Max: 100, Open: true}, Hint: never, Strict: true, Doc: "Percent of the turns in which all of that holds; drawn by the turn and the entry, so that a replay draws the same. An entry that is never active is `disabled`."},
		"criteria.Activation.group":            {Section: "§3.4", Doc: "Of the entries of a group whose criteria hold, one is active. In several groups, with commas between them, an entry has to be the one of each."},
		"criteria.Activation.weight":           {Section: "§3.4", Default: int64(100), Range: &source.Range{Min: 1, Max: 1_000_000}, Hint: never, Strict: true, Doc: "Of the entry when its group chooses by chance."},
		"criteria.Activation.choose":           {Section: "§3.4", Enum: []string{"weight", "priority", "matches"}, Default: "weight", Doc: "How its group chooses: by chance, the highest priority (then by id), or by chance among those of which the most keywords occur. If entries of a group differ, `priority` comes before `matches`, and that before `weight`."},
		"criteria.Activation.outside_limit":    {Section: "§3.4", Default: false, Doc: "It is not counted among the entries that its base activates."},
		"criteria.Activation.wakes":            {Section: "§3.4", Default: false, Doc: "When it is active, its content is searched for keywords of others, too: a step of waking."},
		"criteria.Activation.similar":          {Section: "§3.4", Doc: "The current text is like it."},
		"criteria.Activation.scan":             {Section: "§3.4", Doc: "The current text for this entry. Default: that of its base."},
		"criteria.Activation.scope":            {Section: "§3.4", Doc: "Whose prompts it may stand in."},
		"criteria.Activation.purposes":         {Section: "§3.4", Enum: criteria.Purposes(), Hint: never, Strict: true, Doc: "For which workflows: the core workflow, the reflection, skills. Default: all."},
		"criteria.Activation.delay":            {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxTurns), Doc: "The agent's first turns, in which it is not active."},
		"criteria.Activation.sticky":           {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxTurns), Doc: "Turns of the agent for which it stays active behind the one in which its criteria held."},
		"criteria.Activation.cooldown":         {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxTurns), Doc: "Turns behind these in which it is not active."},
		"criteria.Activation.outside_budget":   {Section: "§3.4", Default: false, Doc: "Its tokens are not counted among those of its base."},
		"criteria.Activation.woken_by":         {Section: "§3.4", Enum: []string{criteria.WokenByText}, Doc: "`text`: the contents of entries do not activate it."},
		"criteria.Activation.level":            {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxSteps), Doc: "From which step of waking on it can be found; above 0 only when some entry wakes others."},
		"criteria.Activation.slot":             {Section: "§3.4", Enum: criteria.Slots(), Doc: "Section of the prompt. `rules` and `instruction` are never dropped. Default: `constant` with `always`, else `knowledge`."},
		"criteria.Activation.order":            {Section: "§3.4", Default: int64(0), Range: &source.Range{Min: -criteria.MaxTurns, Max: criteria.MaxTurns}, Doc: "Place in its section: lower first. What is dropped first stays a matter of priority."},

		"criteria.Similar.to":           {Section: "§3.4", Doc: "What the text is compared with. Default: the entry."},
		"criteria.Similar.above":        {Required: true, Section: "§3.4", Range: &source.Range{Max: 1, Open: true}, Doc: "Least cosine, in thousandths: of [vectors](#similar) in a base that has them, else of the stems of both, without words that every text has."},
		"criteria.Scan.events":          {Section: "§3.4", Default: false, Doc: "What the agent hears in this turn."},
		"criteria.Scan.history":         {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxHistory), Doc: "So many entries of the interaction history, the newest."},
		"criteria.Scan.goals":           {Section: "§3.4", Default: false, Doc: "Descriptions of open goals."},
		"criteria.Scan.observations":    {Section: "§3.4", Default: false, Doc: "What it observes, as JSON."},
		"criteria.Scan.self":            {Section: "§3.4", MaxItems: criteria.MaxPaths, Doc: "Paths of the private state."},
		"criteria.Scan.world":           {Section: "§3.4", MaxItems: criteria.MaxPaths, Doc: "Paths of the world, such as `rooms.hall`."},
		"criteria.Scope.profiles":       {Section: "§3.4", Hint: anybody, Strict: true, Doc: "Ids of profiles."},
		"criteria.Scope.roles":          {Section: "§3.4", Hint: anybody, Strict: true, Doc: "Roles in the scene."},
		"criteria.Scope.agents":         {Section: "§3.4", Hint: anybody, Strict: true, Doc: "Instance ids, or names of profiles."},
		"criteria.Scope.places":         {Section: "§3.4", Hint: anybody, Strict: true, Doc: "Names of [places](space.md) in which the agent is."},
		"criteria.Scope.except":         {Section: "§3.4", Default: false, Doc: "All others."},
		"criteria.Defaults.limit":       {Section: "§3.4", Default: int64(knowledge.DefaultLimit), Range: &source.Range{Min: 1, Max: criteria.MaxEntries}, Hint: "entries with disabled: true are never active", Strict: true, Doc: "Most entries that a situation activates. Entries that are never active are `disabled`."},
		"criteria.Defaults.tokens":      {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxTokens), Doc: "Most tokens of their titles and contents, as prompts count them, before references are filled in. 0: any number."},
		"criteria.Defaults.min_entries": {Section: "§3.4", Default: int64(0), Range: upTo(criteria.MaxEntries), Doc: "With fewer active entries the history is searched further back, one entry at a time, at most 64."},
		"criteria.Defaults.max_steps":   {Section: "§3.4", Default: int64(3), Range: &source.Range{Min: 1, Max: criteria.MaxSteps}, Hint: "without wakes no entry wakes others", Strict: true, Doc: "How often contents wake others."},
		"criteria.Defaults.scan":        {Section: "§3.4", Doc: "The current text of entries that do not say it. Default: what the agent hears, and its open goals, without names."},

		"knowledge.Goal.description":         {Section: "§2.1.3", Doc: "The aim. Default: the entry's content or title."},
		"knowledge.Goal.status":              {Section: "§2.1.3", Enum: []string{"pending", "active", "completed", "failed"}, Default: "pending", Doc: "The status of the goal. An initial goal whose entry gives none is active, unless [rules](goals.md) choose."},
		"knowledge.Goal.preconditions":       {Section: "§2.1.3", Doc: "[Conditions](#condition) that must hold before the goal makes sense."},
		"knowledge.Goal.completion_criteria": {Section: "§2.1.3", Doc: "[Conditions](#condition) that must all hold for the goal to be reached."},
		"knowledge.Goal.failure_criteria":    {Section: "§2.1.3", Doc: "[Conditions](#condition) of which one is enough for the goal to have failed."},
		"knowledge.Goal.rewards":             {Section: "§2.1.3", Doc: "Rewards for reaching it; any value, which the agent is shown. In an object, `commands` are [state commands](state-commands.md) with keys `self.…` that are carried out once."},
		"knowledge.Goal.penalties":           {Section: "§2.1.3", Doc: "Penalties for failing it; the same."},
		"knowledge.Goal.parent_goal_id":      {Section: "§2.1.3", Doc: "Id of the larger goal that contains this one."},
		"knowledge.Goal.completes_by":        {Section: "§2.1.3", Enum: []string{goal.ByAll, goal.ByAny}, Doc: "Whether all or any of the goals that it contains complete it. Default: they do not."},
		"knowledge.Goal.deadline":            {Section: "§2.1.3", Range: span, Hint: "leave it out for no deadline", Strict: true, Doc: "Fails unless it is completed so long after an agent took it on."},
		"knowledge.Goal.recurs":              {Section: "§2.1.3", Range: span, Hint: "a goal without it ends once", Strict: true, Doc: "So long after its end it is pending again."},
		"knowledge.Goal.exclusive":           {Section: "§2.1.3", MaxItems: goal.MaxExclusive, Doc: "Resources: of the goals of an agent that name one of them, one is active."},
		"goal.Condition.text":                {Section: "§2.1.3", Doc: "Prose, for the model. A text alone is read as this field."},
		"goal.Condition.expr":                {Section: "§2.1.3", Doc: "Expression over `world`, `self`, `goals` and `now`: see [goals](goals.md#conditions). At most 1,024 bytes."},
	}
}
