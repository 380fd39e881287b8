#!/usr/bin/env bash
# Opens example pages in headless Chromium: the charts are there, the console is silent, dark pages
# are dark, and on a narrow screen what does not fit can be scrolled and says so. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd)
browser=$(command -v chromium || command -v chromium-browser || true)
if [[ -z $browser ]]; then
    echo "not tested here: no chromium; tools/setup chromium installs it"
    exit 77
fi
folder=$(mktemp -d)
# A browser that has ended may leave a process for a moment that still writes into its folder; what
# cannot be removed at once must not decide what the test says.
clear_away() {
    for _ in 1 2 3 4 5; do
        rm -rf "$folder" 2>/dev/null && return
        sleep 1
    done
    return 0
}
trap clear_away EXIT
"$build/report_html_test" "$folder"
"$build/report_sheets_test" "$folder"
failures=0

# look NAME PAGE SCHEME [WIDTH]: what the browser makes of the page goes into $folder/NAME.dom, what it
# says into NAME.said, how it looks into NAME.png. Scheme 0 is dark, 1 light.
look() {
    timeout 300 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
        --user-data-dir="$folder/$1" --disable-background-networking --disable-sync \
        --disable-component-update --enable-logging=stderr --window-size="${4:-800},600" \
        --blink-settings=preferredColorScheme="$3" --screenshot="$folder/$1.png" --dump-dom \
        "file://$folder/$2" >"$folder/$1.dom" 2>"$folder/$1.said"
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect NAME CHARTS...: each is drawn as often as the list names it.
expect() {
    local chart want got
    for chart in $(printf '%s\n' "${@:2}" | sort -u); do
        want=$(printf '%s\n' "${@:2}" | grep -cx "$chart")
        got=$(grep -o "<svg data-chart=\"$chart\"" "$folder/$1.dom" | wc -l)
        [[ $want == "$got" ]] || fail "$1 has $got charts '$chart', not $want"
    done
    ! grep CONSOLE "$folder/$1.said" || fail "$1 writes to the console"
}

echo '<script>console.error("seen")</script>' >"$folder/bad.html"
# A copy of a page that counts, in the attributes of its body, the pixels it is too wide, the boxes
# that must be scrolled, and those of them that do not say so. 500 is the least width of a window.
measured() {
    cat "$folder/$1"
    cat <<'END'
<script>
const wide = box => !box.closest("details") && box.scrollWidth > box.clientWidth + 1;
const hint = box => box.querySelector(".hint");
const boxes = [...document.querySelectorAll(".chart, .scroll")].filter(wide);
document.body.dataset.beyond = Math.max(0, document.documentElement.scrollWidth - innerWidth);
document.body.dataset.boxes = boxes.length;
document.body.dataset.silent = boxes.filter(b => !hint(b) || !hint(b).offsetWidth).length;
// Every chart can be saved: as a file that is whole and needs no style sheet.
const saved = [...document.querySelectorAll("figure svg")].map(save);
const whole = text => {
    const file = new DOMParser().parseFromString(text, "image/svg+xml");
    return !file.querySelector("parsererror") && file.documentElement.getAttribute("width") > 0;
};
document.body.dataset.saved = saved.filter(t => whole(t) && !/var\(|class=/.test(t)).length;
document.body.dataset.buttons = document.querySelectorAll("figure .save").length;
// A pointer in the middle of the comparison is told the value of every line; one that is clicked
// away is not told any more; seeds show on demand, and CSV has all of them.
const chart = document.querySelector("[data-chart=compare]"), at = chart.getBoundingClientRect();
const point = () => chart.dispatchEvent(new PointerEvent("pointermove",
    {clientX: at.left + at.width * .4, clientY: at.top + 50}));
const told = () => [...chart.closest("figure").querySelectorAll(".tip p span")].map(s => s.textContent);
point();
document.body.dataset.told = told().sort().join();
document.body.dataset.value = /^\d+\.\d ± \d+\.\d %$/.test(document.querySelector(".tip em").textContent);
chart.querySelector("[data-of='1']").onclick();
point();
document.body.dataset.left = told().length;
const figure = chart.closest("figure");
figure.querySelector(".each").click();
document.body.dataset.seeds = [...chart.querySelectorAll(".seed")].filter(s => getComputedStyle(s).display != "none").length;
document.body.dataset.csv = csv(chart).split("\n").filter(r => /^joint,2,/.test(r)).length;
</script>
END
}
measured compare.html >"$folder/measured.html"
# As many browsers at once as there are cores: each has its time from when it is started, so that
# eight that share two cores with other tests would be too slow together and not one by one.
cores=$(nproc)
looks=()
for what in "dark run.html 0" "stream personal.html 1" "light run.html 1" "compare compare.html 1" "bad bad.html 1" \
    "sheets sheets.html 1" "sheets-dark sheets.html 0" \
    "narrow measured.html 1 500"; do
    while [[ $(jobs -rp | wc -l) -ge $cores ]]; do
        sleep 0.05
    done
    look $what &
    looks+=($!)
done
for id in "${looks[@]}"; do
    wait "$id" || fail "a browser ends with $?; 124: it was not done in 300 seconds"
done

one=(accuracy matrix forgetting confusion classes loss time client-loss held clients bytes bytes-total)
expect dark "${one[@]}" bytes-accuracy time-accuracy
expect light "${one[@]}" bytes-accuracy time-accuracy
expect compare compare final losses bytes-accuracy time-accuracy "${one[@]}" "${one[@]}" "${one[@]}" "${one[@]}"
expect stream met client-accuracy
expect sheets sheet sheet sheet sheet sheet sheet
expect sheets-dark sheet sheet sheet sheet sheet sheet
grep -q 'data-beyond="0" data-boxes="12" data-silent="0" data-saved="53" data-buttons="53"' "$folder/narrow.dom" ||
    fail "narrow: $(grep -o '<body[^>]*>' "$folder/narrow.dom")"
grep -q 'data-told="er,er + fed-a-gem,fedavg,joint" data-value="true" data-left="3" data-seeds="12" data-csv="51"' \
    "$folder/narrow.dom" || fail "pointing and clicking: $(grep -o '<body[^>]*>' "$folder/narrow.dom")"
grep -q 'CONSOLE.*seen' "$folder/bad.said" || fail "what is written to the console is not seen"
[[ -s $folder/dark.png ]] || fail "there is no picture"
! cmp -s "$folder/dark.png" "$folder/light.png" || fail "dark and light look the same"
[[ $failures == 0 ]] && echo "the pages look right to a browser"
exit $((failures > 0))
