#!/usr/bin/env python3
"""Writes a wrapper per op from op.inc, so that Python has what C has: make_ops.py OP_INC OUT"""

import re
import sys

# How an argument is read from the tuple `args`, place i, and how it is passed on.
READ = {
    "eg_node *": ("eg_node *{n} = eg_py_node(args, {i});", "{n}"),
    "double ": ("double {n} = eg_py_real(args, {i});", "{n}"),
    "unsigned ": ("unsigned {n} = (unsigned)eg_py_whole(args, {i});", "{n}"),
    "int ": ("int {n} = (int)eg_py_whole(args, {i});", "{n}"),
    "int64_t ": ("int64_t {n} = eg_py_whole(args, {i});", "{n}"),
    "bool ": ("bool {n} = eg_py_whole(args, {i}) != 0;", "{n}"),
    "eg_shape ": ("eg_shape {n} = eg_py_shape_at(args, {i});", "{n}"),
    "eg_window ": ("eg_window {n} = eg_py_window(args, {i});", "{n}"),
    "const eg_region *": ("eg_region {n} = eg_py_region(args, {i});", "&{n}"),
    "const int *": ("int {n}[EG_MAX_RANK]; eg_py_order(args, {i}, {n});", "{n}"),
    "eg_node *const *": ("eg_node *{n}[EG_PY_MAX_PARTS]; int n = eg_py_parts(args, {i}, {n});",
                         "n, {n}"),
}


def wrapper(name, arguments, help_text):
    lines, passed, names = [], [], []
    for argument in arguments.split(",")[1:]:
        kind, word = re.match(r"\s*(.*?)(\w+)$", argument).groups()
        if (kind, word) == ("int ", "n"):
            continue  # the number of the parts that follow
        read, give = READ[kind]
        lines.append("    " + read.format(n=word, i=len(names) + 1))
        passed.append(give.format(n=word))
        names.append(word)
    body = "\n".join(lines)
    return (f"static PyObject *op_{name}(PyObject *module, PyObject *args)\n{{\n"
            f"    (void)module;\n"
            f"    eg_graph *g = eg_py_graph(args);\n{body}\n"
            f"    if (PyErr_Occurred())\n        return NULL;\n"
            f"    return eg_py_recorded(args, g, eg_{name}({', '.join(['g'] + passed)}));\n}}\n",
            f'    {{"op_{name}", op_{name}, METH_VARARGS,\n     "({", ".join(names)})\\n"\n'
            f'     "{help_text}"}},\n')


def main():
    source, out = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        ops = re.findall(r'^X\((\w+), \((.*?)\), "(.*)"\)$', f.read(), re.M)
    made = [wrapper(*op) for op in ops]
    with open(out, "w", encoding="utf-8") as f:
        f.write("".join(function for function, _ in made))
        f.write("static PyMethodDef op_methods[] = {\n")
        f.write("".join(row for _, row in made))
        f.write("    {NULL, NULL, 0, NULL},\n};\n")


if __name__ == "__main__":
    main()
