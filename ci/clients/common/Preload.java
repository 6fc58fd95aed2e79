import java.io.File;
import java.io.IOException;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Loads all classes of the class path, so that an archive which Java makes at its end holds them. */
final class Preload {
  public static void main(String[] arguments) throws IOException {
    for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
      try (JarFile jar = new JarFile(path)) {
        jar.stream().map(JarEntry::getName).filter(each -> each.endsWith(".class")).forEach(Preload::load);
      }
    }
  }

  private static void load(String file) {
    String name = file.substring(0, file.length() - ".class".length()).replace('/', '.');
    try {
      Class.forName(name, false, Preload.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError missing) {
      // It is for another Java, or a part of the library that needs more than is here.
    }
  }
}
