/* desk.c - the operator's page of a server for devices: it asks for everything else itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/page/page.h"

#include <stdlib.h>

// clang-format off
static const char *const desk_body[] = {
"<style>"
".is{display:inline-flex;gap:7px;align-items:center}.is i{width:9px;height:9px;border-radius:50%;background:var(--k)}"
".late i,.lost i,.refused i,.gone i,.revoked i{background:var(--bad)}.late,.lost,.refused,.gone,.revoked{color:var(--bad)}"
".working i{background:#0072b2}.in i{background:#009e73}.awaited i,.invited i,.nobody i{background:var(--axis)}"
".c0{--k:#0072b2}.c1{--k:#d55e00}"
"@media screen and (prefers-color-scheme:dark){.c0{--k:#5aaef0}.c1{--k:#f0935a}.working i{background:#5aaef0}.in i{background:#3ecf9f}}"
".orders{display:flex;flex-wrap:wrap;gap:10px;align-items:center}.orders p{margin:0;color:var(--dim);font-size:13.5px}"
".orders button,.orders input{font:inherit;font-size:14px;color:var(--ink);background:var(--page);border:1px solid var(--axis);"
"border-radius:8px;padding:5px 12px}.orders input{width:110px}.orders button{cursor:pointer}.orders .stop{color:var(--bad);border-color:var(--bad)}"
"ol{margin:6px 0 0;padding:0;list-style:none;font-size:13.5px}ol li{padding:3px 0;border-bottom:1px solid var(--rule);overflow-wrap:anywhere}"
"td.why{white-space:normal;text-align:left;min-width:180px;color:var(--dim)}th.why{text-align:left}"
".legend{display:flex;gap:16px;font-size:13px;color:var(--dim);margin:6px 0 0}.legend i{display:inline-block;width:14px;height:3px;"
"background:var(--k);margin-right:6px;vertical-align:middle}"
"tr>:nth-child(2){text-align:left}"
"</style>\n"
"<p class=\"brand\">engram · operator</p><h1 id=\"name\">…</h1><p class=\"facts\" id=\"facts\">connecting</p>\n"
"<p class=\"warn\" id=\"warn\" hidden></p>\n"
"<div class=\"tiles six\" id=\"tiles\"></div>\n"
"<figure><figcaption><h3>Accuracy and loss by round</h3></figcaption><div id=\"chart\"></div>"
"<p class=\"legend\"><span class=\"c0\"><i></i>accuracy</span><span class=\"c1\"><i></i>training loss</span></p></figure>\n"
"<div class=\"card\"><h3>Devices</h3><p class=\"where\" id=\"counts\"></p><div class=\"scroll\"><table class=\"wide\"><thead><tr><th>client</th><th>is</th>"
"<th>heard of</th><th>asked</th><th>last answer</th><th>answers</th><th>left out</th><th class=\"why\">why</th></tr></thead>"
"<tbody id=\"devices\"></tbody></table></div></div>\n"
"<div class=\"pair\"><div class=\"card\"><h3>What happened</h3><ol id=\"said\"></ol></div>\n"
"<div class=\"card\"><h3>Orders</h3><div class=\"orders\" style=\"margin-top:10px\"><input id=\"seconds\" type=\"number\" min=\"0\" placeholder=\"seconds\">"
"<button id=\"deadline\">Set the deadline</button><button class=\"stop\" id=\"stop\">Stop after this round</button><p id=\"answer\"></p></div>"
"<p class=\"where\">A deadline is how long a device may take for an answer; 0 is the usual one. A run that is stopped leaves a checkpoint, and "
"<code>engram serve --resume</code> goes on from it.</p></div></div>\n"
"<footer>Numbers for Prometheus are at <a href=\"/metrics\">/metrics</a>.</footer>\n",

"<script>\n"
"const $ = id => document.getElementById(id);\n"
"const token = location.hash.slice(1);\n"
"const past = new Map();\n"
"let drawn = -1;\n"
"const make = (tag, text, kind) => { const e = document.createElement(tag); e.textContent = text; if (kind) e.className = kind; return e; };\n"
"const seconds = s => s == null ? '' : s < 100 ? s.toFixed(1) + ' s' : s < 6000 ? Math.round(s / 60) + ' min' : (s / 3600).toFixed(1) + ' h';\n"
"const bytes = b => { if (b == null) return '–'; let i = 0; while (b >= 1000 && i < 4) { b /= 1000; i++; }\n"
"  return (i ? b.toPrecision(3) : b) + ' ' + ['B', 'kB', 'MB', 'GB', 'TB'][i]; };\n"
"const tile = (what, value, unit) => { const t = make('div', '', 'tile'), s = make('strong', value);\n"
"  if (unit) s.append(make('span', unit)); t.append(make('p', what), s); return t; };\n"
"function line(points, x, y, kind) {\n"
"  if (!points.length) return '';\n"
"  return `<path class=\"line ${kind}\" d=\"M${points.map(p => x(p[0]).toFixed(1) + ' ' + y(p[1]).toFixed(1)).join('L')}\"/>`;\n"
"}\n"
"function chart(rounds) {\n"
"  const w = Math.max(300, $('chart').clientWidth || 900), h = 220, left = 40, right = 44, top = 10, low = 24;\n"
"  const all = [...past.values()].sort((a, b) => a.round - b.round);\n"
"  const most = Math.max(1, ...all.map(r => r.loss ?? 0)), n = Math.max(1, rounds);\n"
"  const x = r => left + (w - left - right) * r / n, y = v => top + (h - top - low) * (1 - v);\n"
"  let svg = `<svg viewBox=\"0 0 ${w} ${h}\" role=\"img\" aria-label=\"accuracy and loss by round\">`;\n"
"  for (const v of [0, .25, .5, .75, 1])\n"
"    svg += `<path class=\"grid\" d=\"M${left} ${y(v)}H${w - right}\"/><text class=\"dim end\" x=\"${left - 6}\" y=\"${y(v) + 4}\">${100 * v}</text>`\n"
"      + `<text class=\"dim\" x=\"${w - right + 6}\" y=\"${y(v) + 4}\">${(most * v).toPrecision(2)}</text>`;\n"
"  for (const v of [0, .25, .5, .75, 1])\n"
"    svg += `<text class=\"dim mid\" x=\"${x(n * v)}\" y=\"${h - 5}\">${Math.round(n * v)}</text>`;\n"
"  svg += line(all.filter(r => r.loss != null).map(r => [r.round, r.loss / most]), x, y, 'c1');\n"
"  svg += line(all.filter(r => r.accuracy != null).map(r => [r.round, r.accuracy]), x, y, 'c0 strong');\n"
"  $('chart').innerHTML = svg + '</svg>';\n"
"}\n",

"function show(s) {\n"
"  const c = s.counts, there = c.in + c.working + c.late + c.lost;\n"
"  document.title = `${s.round}/${s.rounds} ${s.name} – engram`;\n"
"  $('name').textContent = s.name + ' · ' + s.label;\n"
"  $('facts').textContent = s.over ? 'The run is over.' : s.stops ? 'The run stops after this round.' : 'The run goes on.';\n"
"  $('warn').hidden = !s.waits || s.over;\n"
"  $('warn').textContent = 'The run waits: too few devices are there.';\n"
"  $('tiles').replaceChildren(tile('Round', s.round, 'of ' + s.rounds), tile('Accuracy', s.accuracy == null ? '–' : (100 * s.accuracy).toFixed(1), '%'),\n"
"    tile('Training loss', s.loss == null ? '–' : s.loss.toPrecision(3)), tile('Devices', there, 'of ' + s.clients),\n"
"    tile('Sent up', bytes(s.bytes_up)), tile('Time', seconds(s.seconds)));\n"
"  $('counts').textContent = Object.entries(c).filter(e => e[1]).map(e => e[1] + ' ' + e[0]).join(' · ')\n"
"    + (s.wrong_keys ? ` · ${s.wrong_keys} requests with a wrong key` : '');\n"
"  $('devices').replaceChildren(...s.devices.map(d => { const row = document.createElement('tr'), is = make('td', ''), span = make('span', '', 'is ' + d.is);\n"
"    span.append(document.createElement('i'), d.is); is.append(span);\n"
"    row.append(make('td', d.client), is, make('td', d.heard == null ? '' : seconds(d.heard) + ' ago'), make('td', d.asked == null ? '' : seconds(d.asked) + ' ago'),\n"
"      make('td', d.answered ? seconds(d.took) : ''), make('td', d.answered), make('td', d.left_out), make('td', d.why ?? '', 'why')); return row; }));\n"
"  $('said').replaceChildren(...s.said.slice().reverse().map(t => make('li', t)));\n"
"  if (s.round > drawn || drawn < 0) { if (s.round > 0) past.set(s.round, s); drawn = s.round; chart(s.rounds); }\n"
"}\n"
"async function order(path) {\n"
"  if (!token) { $('answer').textContent = 'Orders need the token: open the address that the server printed.'; return; }\n"
"  const r = await fetch(path, {method: 'POST', headers: {Authorization: 'Bearer ' + token}});\n"
"  $('answer').textContent = await r.text();\n"
"}\n"
"$('stop').onclick = () => confirm('Stop the run after this round?') && order('/stop');\n"
"$('deadline').onclick = () => order('/deadline?number=' + (parseInt($('seconds').value) || 0));\n"
"fetch('/history').then(r => r.json()).then(h => { for (const r of h.rounds) if (r.round > 0) past.set(r.round, r); drawn = -1; }).finally(() => {\n"
"  const events = new EventSource('/events');\n"
"  let last = Date.now();\n"
"  events.onmessage = e => { last = Date.now(); show(JSON.parse(e.data)); };\n"
"  setInterval(() => { if (Date.now() - last > 45000) { $('warn').hidden = false; $('warn').textContent = 'The server has not been heard of for ' + seconds((Date.now() - last) / 1000) + '.'; } }, 3000);\n"
"});\n"
"</script>\n</main>\n</body>\n</html>\n",
NULL};
// clang-format on

eg_status eg_report_desk(char **out)
{
    size_t n;
    FILE *f = open_memstream(out, &n);
    if (!f)
        return eg_fail(EG_ENOMEM, "no memory for the operator's page");
    eg_page_begin(f);
    fputs("operator", f);
    eg_page_style(f);
    for (const char *const *piece = desk_body; *piece; piece++)
        fputs(*piece, f);
    if (fclose(f) == 0)
        return EG_OK;
    free(*out);
    *out = NULL;
    return eg_fail(EG_ENOMEM, "no memory for the operator's page");
}
