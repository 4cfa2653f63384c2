// The editor: CodeMirror for Python, in the colors of the book's code blocks and usable from the keyboard.
// A script of its own, which exercise.js loads when the reader comes near.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";

// The class names that Pygments uses, so that the theme's colors for code hold here too, in light and in dark.
const pygments = tagHighlighter([
  { tag: tags.keyword, class: "k" },
  { tag: [tags.operatorKeyword, tags.definitionOperator], class: "ow" },
  { tag: [tags.bool, tags.null], class: "kc" },
  { tag: tags.comment, class: "c1" },
  { tag: tags.string, class: "s2" },
  { tag: tags.number, class: "mi" },
  { tag: tags.operator, class: "o" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "nf" },
  { tag: tags.meta, class: "nd" },
]);

// Puts an editor into `parent`. `label` and `help` (an element's id) are what a screen reader says; `keys` maps key names
// to functions; `changed` is called with the code after each change.
window.courseEditor = function ({ parent, code, label, help, keys, changed }) {
  const bindings = Object.entries(keys).map(([key, run]) => ({ key, run: () => (run(), true) }));
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: code,
      extensions: [
        lineNumbers(),
        EditorView.lineWrapping,
        history(),
        indentUnit.of("    "),
        indentOnInput(),
        bracketMatching(),
        pythonLanguage,
        syntaxHighlighting(pygments),
        keymap.of([...bindings, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": help }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    get code() {
      return view.state.doc.toString();
    },
    set code(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
  };
};
