"""The masters: one py:percent notebook per exercise, and the only place where an exercise is written.

Each is also a Python module: `from solutions.vit_param_count import vit_param_count` gives the reference function.

**To add an exercise** `name`:

1. Write `solutions/name.py`, a py:percent notebook (take `vit_param_count.py` as the pattern). Its header has
   `course:` with title, functions, points, minutes, difficulty (core or interview), chapter (a file stem in book/)
   and order. Its cells say by tag what they are:

   - `statement` (markdown): the task and every rule that the tests hold the student to;
   - `setup` (code): left as one comment; `autograder release` writes it;
   - `given` (code, optional): what the student is given; it also runs when the master is imported;
   - `stub` (code, one for each function): signature, docstring, the solution between `### BEGIN SOLUTION` and
     `### END SOLUTION`, and after it a `raise NotImplementedError` that names the task;
   - `check` (code): calls `check(...)`, nothing else;
   - `hidden` (code): calls the grader between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`, never a test;
   - `hint` (markdown, three or more): the first line is `### ` and the symptom, in the student's words;
   - `solution` (markdown): the reasoning that leads to the code;
   - `cases` (code): `CASES`, the visible cases as data: `{"name", "call", "args", "kwargs"}`.

   `setup`, `check` and `hidden` also have the tag `active-ipynb`: they are comments in the .py.
2. Write `autograder/tests/name.py` (otter's exception format, with `autograder.kit`), whose points sum to those of the
   header, and `autograder/misconceptions/name.py`, a dozen wrong functions with their sentences.
3. Put right answers in unusual style into `tests/unusual/name/`.
4. Run `python -m autograder release` and `python -m autograder.truth name`. The exercise is in the catalog, the
   notebooks, the course and the bundles without another line; its page is `book/exercises/name.md`.
"""
