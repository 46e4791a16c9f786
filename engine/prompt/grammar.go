package prompt

// TAM tells a model how to write calls in its text.
const TAM = `To act, write a block of calls into your answer. One block may have several calls; number them. Everything outside of blocks is said aloud.

<|[REQUEST_TOOL]|>
command_1: »»»NameOfTheTool«««
name_of_a_parameter_1: »»»its value«««
<|[END_TOOL]|>

Write a value that is a number, a list or an object as JSON. A parameter with a star must be there.`
