from docutils import nodes
from course.interactive import Interactive


class VitExplorer(Interactive):
    def run(self):
        return []


def setup(app):
    app.add_directive("vit-explorer", VitExplorer)
