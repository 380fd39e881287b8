# A folder of runs: listed, compared, made pages of, and freed of checkpoints.
cat >file.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 10}
runs:
- {label: er, method: er}
- {label: avg, method: fedavg}
YAML
no_hash() { sed -E 's/-[0-9a-f]{8}/-HASH/g'; }
engram compare file.yaml --seeds 0..1 --quiet >table

echo "# one line each"
rm runs/small-avg-s1-*/summary.json
echo broken >runs/small-er-s1-*/metrics.jsonl
engram runs | no_hash | sed -E 's/ [0-9.]+  (now|[0-9]+ [a-z]+) / X  now /'
fails 1 engram runs nowhere
mkdir empty
fails 1 engram runs empty

echo "# all of them are compared, those that are finished"
mv runs/small-er-s1-* broken
engram compare runs --csv | cut -d, -f1,2,4
fails 1 engram compare empty

echo "# pages of all runs, of the experiment, and one that leads to them"
rm -f runs/*/report.html runs/*.html
engram report runs
ls runs/*.html runs/*/report.html | no_hash
sed -n 's/.*<a href="\([^"]*\)".*/\1/p' runs/index.html | sort | while read -r page; do
    [ -s "runs/$page" ] || echo "index.html leads to $page, which is not there"
done
grep -c 'data-table="runs"' runs/index.html

echo "# checkpoints of finished runs go, those of others stay"
engram gc runs --dry-run | sed -E 's/[0-9.]+ MB/X MB/' | no_hash
ls -d runs/*/checkpoint | no_hash
engram gc runs | tail -1 | sed -E 's/[0-9.]+ MB/X MB/'
ls -d runs/*/checkpoint | no_hash
engram gc runs
engram compare runs --csv | cut -d, -f1,2,4
fails 1 engram gc nowhere

echo "# one chart alone"
engram report runs --chart compare --out chart.svg
python3 -c 'import xml.dom.minidom as m
d = m.parse("chart.svg").documentElement
print(d.tagName, d.namespaceURI, d.getAttribute("data-chart"), len(d.getElementsByTagName("style")))'
fails 2 engram report runs --chart beauty --out chart.svg
fails 2 engram report runs --chart compare
